"""What the stores on SQL databases share."""

"""People who sign up."""

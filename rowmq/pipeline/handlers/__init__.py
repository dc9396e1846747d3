"""A client's handlers on Spark's executors."""

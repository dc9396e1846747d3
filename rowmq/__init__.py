"""A message queue in the database you already have."""

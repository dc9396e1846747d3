"""A queue as a stream: batches held under a name, kept alive, and acked once Spark has committed them."""

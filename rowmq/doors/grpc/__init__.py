"""gRPC: GOMQ's interface for its clients unchanged, and RowMQ's own."""

"""The store behind a server's gRPC port, and the interface that the server has there."""

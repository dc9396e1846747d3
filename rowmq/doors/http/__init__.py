"""The HTTP server: RowMQ's own API, the hq API and the SQS protocol, on one port and any store."""

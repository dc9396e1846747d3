"""The audit: whether every message is accounted for."""

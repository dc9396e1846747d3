"""A line for every request, for those who want one."""

import logging

from rowmq.runtime.log import jot, logger


def log_call(method: str, code: str, seconds: float) -> None:
    """Log a call by gRPC."""
    jot(logger, logging.INFO, "grpc.call", method=method, code=code, seconds=round(seconds, 6))


def log_request(method: str, path: str, status: int, size: int, seconds: float) -> None:
    """Log a request: the path as its route has it, because names are the caller's."""
    jot(
        logger, logging.INFO, "http.request",
        method=method, path=path, status=status, size=size, seconds=round(seconds, 6),
    )  # fmt: skip

"""What Redis cannot do: join the caller's transaction."""

from rowmq.core.errors import Unsupported


def refuse_transaction(tx: object) -> None:
    """Raise Unsupported if the caller brought a transaction."""
    if tx is not None:
        raise Unsupported("a Redis store cannot join a transaction: call it without tx")

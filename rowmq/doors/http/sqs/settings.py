"""How the SQS door presents itself."""

from dataclasses import dataclass

SECONDS_TO_WAIT = 60
"""AWS lets so long pass between two purges of a queue, and before a deleted queue's name is free again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What appears in queue URLs and ARNs, and which of AWS's waits hold.

    ``public_url`` None means the name that the caller used for this server, which it can surely reach.
    """

    account: str = "000000000000"
    region: str = "us-east-1"
    public_url: str | None = None
    purge_wait: bool = False
    delete_wait: bool = False

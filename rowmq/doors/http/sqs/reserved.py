"""What this door keeps beside a message or a queue that the engine has no place for.

Names that begin with ``sqs:`` are ours: in a message's metadata, and in a queue's tags, where no caller
sees them.
"""

from collections.abc import Mapping

PREFIX = "sqs:"
ATTRIBUTE = PREFIX + "attribute:"
"""Before a message attribute's name, in metadata, unless it is a plain string."""
TRACE = PREFIX + "AWSTraceHeader"
GROUP = PREFIX + "group"
"""The group of a message in a standard queue, where it orders nothing."""
DEDUPLICATION = PREFIX + "deduplication"
CREATED = PREFIX + "created"
MODIFIED = PREFIX + "modified"
PURGED = PREFIX + "purged"
"""When a queue was last purged: deduplication forgets what was before."""
SCOPE = PREFIX + "scope"
"""The scope of deduplication at the queue's creation, which is the one that counts."""
MOVES = PREFIX + "moves"
SUBSCRIPTION = PREFIX + "subscription:"


def kept(tags: Mapping[str, str], attribute: str) -> str | None:
    """A queue attribute that the engine does not know, or None."""
    return tags.get(PREFIX + attribute)


def visible(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags that are the callers' own.

    >>> visible({"team": "mail", "sqs:created": "1"})
    {'team': 'mail'}
    """
    return {key: value for key, value in tags.items() if not key.startswith(PREFIX)}

"""What the door itself says no with, before or instead of the engine."""

from collections.abc import Mapping


class Refusal(Exception):
    """An answer that is not the engine's: a status, one sentence, and headers that go with it.

    ``code`` is what AWS's clients know it by.
    """

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None, *, code: str | None = None
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers, self.code = status, sentence, dict(headers or {}), code


def bad_request(sentence: str) -> Refusal:
    """The request makes no sense as it stands."""
    return Refusal(400, sentence)


def unauthorized(sentence: str = "say who you are: Authorization: Bearer TOKEN") -> Refusal:
    """Nobody we know; the sentence never says which part was wrong."""
    return Refusal(401, sentence, {"www-authenticate": 'Bearer realm="rowmq"'})


def forbidden(sentence: str = "this token has no right to do that") -> Refusal:
    """Somebody we know, who may not; the same whether or not the queue exists."""
    return Refusal(403, sentence)


def too_large(limit: int) -> Refusal:
    """More bytes than a request may have."""
    return Refusal(413, f"a request of this kind has at most {limit} bytes")

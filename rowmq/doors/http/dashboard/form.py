"""What a form says."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from rowmq.doors.http.refusal import bad_request

FIELDS = 200


class Form:
    """The fields of a form that was sent, and what is wrong with each, for the page that shows it again.

    >>> form = Form({"lease": "soon"})
    >>> form.wrong["lease"] = "lease is a number of seconds"
    >>> form.get("lease"), form.get("nothing"), bool(form.wrong)
    ('soon', '', True)
    """

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self._fields = dict(fields or {})
        self.wrong: dict[str, str] = {}
        """By field: one sentence that stands beside it."""

    @classmethod
    def saying(cls, wrong: Mapping[str, str]) -> "Form":
        """An empty form that says what was wrong."""
        made = cls()
        made.wrong = dict(wrong)
        return made

    @classmethod
    def read(cls, body: bytes) -> "Form":
        """The form in a body; of fields that come twice the last counts. Raises Refusal 400."""
        try:
            pairs = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS
            )
        except ValueError:
            raise bad_request(f"a form is UTF-8, percent-encoded, of at most {FIELDS} fields") from None
        return cls(dict(pairs))

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def get(self, name: str, otherwise: str = "") -> str:
        """What a field says; browsers send the ends of lines as CR LF, and they are made plain again."""
        return self._fields.get(name, otherwise).replace("\r\n", "\n")

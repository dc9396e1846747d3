"""Somebody who visits the dashboard without a browser: links, forms, and what a page says."""

import hashlib
import html
import re
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any, Self

import httpx

from rowmq.doors.http.access import Tokens
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.sealing import Sealing
from rowmq.doors.http.dashboard.session import CSRF
from rowmq.doors.http.tokens import digest_of
from tests.doors.http.asked import SECRET, token_text, write_tokens

_NOTICE = re.compile(r'<p class="notice" role="status">(.*?)</p>', re.DOTALL)
_BESIDE = re.compile(r'<span class="why" id="([^"]*)-wrong">(.*?)</span>', re.DOTALL)


class Visitor:
    """A visitor, maybe with a token. Paths are given in parts, as links are made."""

    def __init__(self, url: str, token: str | None = None) -> None:
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        self.http = httpx.Client(base_url=url, headers={"accept": "text/html", **bearer}, timeout=30)
        self.csrf = csrf_of(token) if token else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def gets(self, *path: object, **query: object) -> httpx.Response:
        """The answer at a page."""
        answer = self.http.get(link(*path, **query))
        found = re.search(r'name="csrf" value="([^"]+)"', answer.text)
        self.csrf = found[1] if found else self.csrf
        return answer

    def sees(self, *path: object, **query: object) -> str:
        """What a page says, as it is written there."""
        answer = self.gets(*path, **query)
        assert answer.status_code == 200, answer.text
        return answer.text

    def sends(self, *path: object, **fields: str) -> httpx.Response:
        """The answer to a form, sent with what our pages put into it."""
        return self.http.post(link(*path), data={CSRF: self.csrf, **fields})

    def does(self, *path: object, **fields: str) -> str:
        """What an action says that it did, on the page that it leads to."""
        if not self.csrf:
            self.gets(*path[:2])
        answer = self.sends(*path, **fields)
        assert answer.status_code == 303, answer.text
        shown = self.http.get(answer.headers["location"])
        found = _NOTICE.search(shown.text)
        assert found is not None, shown.text
        return html.unescape(found[1])

    def hears(self, *path: object, **fields: str) -> dict[str, str]:
        """What stands beside the fields of a form that was wrong."""
        if not self.csrf:
            self.gets(*path[:2])
        answer = self.sends(*path, **fields)
        assert answer.status_code == 422, answer.text
        return beside(answer.text)


def beside(page: str) -> dict[str, str]:
    """The sentences that stand beside fields, by the fields' ids."""
    return {id: html.unescape(sentence) for id, sentence in _BESIDE.findall(page)}


def sentence(answer: httpx.Response) -> str:
    """What a page that says no says."""
    return html.unescape(re.sub(r"<[^>]+>", " ", answer.text))


def csrf_of(token: str) -> str:
    """What the forms of who bears this token carry."""
    sealing = Sealing(hashlib.sha256(b"rowmq dashboard " + SECRET.encode()).digest())
    return urlsafe_b64encode(sealing.tag(CSRF, digest_of(token))).decode()


def known(folder: Path, **tokens: dict[str, Any]) -> dict[str, Any]:
    """Settings of a server that knows these tokens, by name, with their rights."""
    entries = [token_text(name, name, **rights) for name, rights in tokens.items()]
    access = Tokens(write_tokens(folder / "tokens.toml", *entries))
    return {"access": access, "secret": access.secret}

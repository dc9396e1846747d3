"""Digests, compared with published ones and with one put together by hand."""

import hashlib

import pytest

from rowmq.doors.http.sqs.md5 import Attribute, of_attributes, of_body


@pytest.mark.parametrize(
    ("name", "attribute", "digest"),
    [
        ("attribName1", Attribute("String", "attribValue 1"), "19e27d4e946b072f3f58da80d94fd778"),
        ("timestamp", Attribute("Number", "1493147359900"), "235c5c510d26fb653d073faed50ae77c"),
        (
            "timestamp",
            Attribute("Number.java.lang.Long", "1493147359900"),
            "2e2e4876d8e0bd6b8c2c8f556831c349",
        ),
    ],
)
def test_digests_are_the_published_ones(name: str, attribute: Attribute, digest: str) -> None:
    assert of_attributes({name: attribute}) == digest


def test_attributes_count_by_name_and_binary_ones_by_their_bytes() -> None:
    by_hand = (
        b"\x00\x00\x00\x01a\x00\x00\x00\x06String\x01\x00\x00\x00\x03\xc5\xbex"
        b"\x00\x00\x00\x01b\x00\x00\x00\x06Binary\x02\x00\x00\x00\x02\x00\xff"
    )
    attributes = {"b": Attribute("Binary", "AP8="), "a": Attribute("String", "žx")}
    assert of_attributes(attributes) == hashlib.md5(by_hand).hexdigest()  # noqa: S324 - it is what AWS has
    assert of_attributes({}) is None


def test_a_body_counts_by_its_bytes() -> None:
    assert of_body("ž".encode()) == hashlib.md5(b"\xc5\xbe").hexdigest()  # noqa: S324 - it is what AWS has

"""Which columns a read has, from its options."""

import re
from collections.abc import Mapping

from pyspark.sql.types import BinaryType, StringType, StructType

from rowmq.pipeline.opening import check_origin, store_at
from rowmq.pipeline.options import Origin, given, one_of, text
from rowmq.pipeline.reading.inference import payload_type
from rowmq.pipeline.schema import READ, TABLES, read_columns

_ORIGIN = ("url", "urlenv", "queue", "topic", "subscription")
_TYPE = re.compile(r"\w+(\s*\([\d\s,]*\))?|(array|map|struct)\s*<.*>", re.IGNORECASE | re.DOTALL)


def columns_of(options: Mapping[str, str]) -> StructType | str:
    """The columns of a read with these options; as text where a part of it is the user's text.

    Only what decides about columns is looked at: the rest belongs to a batch or a stream, and which of them
    it is to be is not known yet.
    """
    said = {key.lower(): value for key, value in options.items()}
    table = one_of(*TABLES)(said.get("table", "messages"))
    if table != "messages":
        return TABLES[table]
    if said.get("payloadschema", "").strip().lower() == "infer":
        return _inferred(said)
    if "payloadschema" in said:
        return with_payload(text(said["payloadschema"]))
    mode = one_of("text", "binary")(said.get("payload", "text"))
    return read_columns(BinaryType() if mode == "binary" else StringType())


def _inferred(said: Mapping[str, str]) -> StructType:
    """The columns, with the payload's type taken from messages that are there."""
    origin = given(Origin, {key: said[key] for key in _ORIGIN if key in said})
    store = store_at(origin.address())
    check_origin(store, origin)
    return read_columns(payload_type(store, origin.source))


def with_payload(schema: str) -> str:
    """The columns as text, the payload parsed by this schema: a type, or columns like ``a int, b string``."""
    kind = schema.strip() if _TYPE.fullmatch(schema.strip()) else f"struct<{schema}>"
    return ", ".join(
        f"`{each.name}` {kind if each.name == 'payload' else each.dataType.simpleString()}"
        for each in READ.fields
    )

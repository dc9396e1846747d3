"""What happened to messages, as one row each: pushed, begun, done, dead or failed, when and by whom."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - its usual name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PATTERNS = (
    (r"(?i)\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b", "<uuid>"),
    (r"(?i)\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b", "<hex>"),
    (r"\d+(?:[.:]\d+)*", "<n>"),
    (r"\s+", " "),
)
"""What two errors of one kind may differ in, and what is put in its place, one after the other."""
TRACEBACK = "Traceback (most recent call last):"
RAISED = r"(?s).*\n([A-Za-z_][\w.]*(?::[^\n]*)?)"
"""The last line of a traceback that names what was raised: two of one kind may come from different lines."""
LONGEST_PATTERN, LONGEST_EXAMPLE, LOOKED_AT = 300, 2000, 20_000
NEEDED = (
    *("id", "queue", "state", "metadata", "created_at", "scheduled_for"),
    *("attempts", "consumer", "started_at", "finished_at"),
)
"""The columns of messages that the figures are made of."""


def lives(messages: "DataFrame", failures: "DataFrame", by: str | None = None) -> "DataFrame":
    """Messages with what the figures need to know: when each was due and begun, its wait and its service.

    The first attempt of a message that failed is known from its failures, for it keeps only its last.
    ``label`` is the value of the metadata key ``by``.
    """
    first = failures.groupBy("id").agg(
        F.min("started_at").alias("first_at"), F.min_by("consumer", "started_at").alias("first_by")
    )
    begun, due = F.least("started_at", "first_at"), F.greatest("created_at", "scheduled_for")
    return messages.join(first, "id", "left").select(
        *(column for column in NEEDED if column != "metadata"),
        begun.alias("begun_at"),
        F.coalesce("first_by", "consumer").alias("begun_by"),
        seconds(due, begun).alias("wait"),
        seconds("started_at", "finished_at").alias("service"),
        F.greatest(F.lit(0), F.col("attempts") - 1).alias("retries"),
        label(by).alias("label"),
    )


def events(lived: "DataFrame", failures: "DataFrame") -> "DataFrame":
    """Everything that happened, a row each, whatever it happened to."""
    none = F.lit(None)
    happened = F.array(
        _event("created_at", F.lit("pushed"), none, none, none, F.lit(0)),
        _event("begun_at", F.lit("begun"), F.col("begun_by"), F.col("wait"), none, F.lit(0)),
        _event("finished_at", F.col("state"), F.col("consumer"), none, F.col("service"), F.col("retries")),
    )
    of_messages = lived.select("queue", "label", F.explode(happened).alias("event"))
    failed = failures.join(lived.select("id", "label"), "id", "left").select(
        "queue",
        "label",
        _event("ended_at", F.lit("failure"), F.col("consumer"), none, none, F.lit(0)).alias("event"),
    )
    return of_messages.unionByName(failed).select("queue", "label", "event.*").where("at IS NOT NULL")


def pattern(error: "Column") -> "Column":
    """An error without what differs between two of its kind: numbers, ids, spaces and where it was raised."""
    raised = F.regexp_extract(F.substring(error, -LOOKED_AT, LOOKED_AT), RAISED, 1)
    is_raised = error.startswith(TRACEBACK) & (raised != "")
    error = F.when(is_raised, raised).otherwise(F.substring(error, 1, LOOKED_AT))
    for regex, replacement in PATTERNS:
        error = F.regexp_replace(error, regex, replacement)
    return F.substring(F.trim(error), 1, LONGEST_PATTERN)


def label(by: str | None) -> "Column":
    """The value of a metadata key, or null."""
    return F.lit(None).cast("string") if by is None else F.element_at("metadata", F.lit(by))


def seconds(start: "Column | str", end: "Column | str") -> "Column":
    """How long it is from one moment to another; never less than 0, and null where one of them is."""
    span = F.unix_micros(end) - F.unix_micros(start)
    return F.when(span < 0, 0.0).otherwise(span / 1e6)


def _event(
    at: str, what: "Column", consumer: "Column", wait: "Column", service: "Column", retries: "Column"
) -> "Column":
    return F.struct(
        F.col(at).alias("at"),
        what.alias("what"),
        consumer.cast("string").alias("consumer"),
        wait.cast("double").alias("wait"),
        service.cast("double").alias("service"),
        retries.cast("long").alias("retries"),
    )

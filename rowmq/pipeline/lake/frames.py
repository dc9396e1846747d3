"""The rows of the archive as DataFrames: read from the store, read from files, counted and summed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - Spark's own documentation calls it so
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.manifest import WORD, Manifest, Plan, Sum
from rowmq.pipeline.schema import FAILURES, MESSAGES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FAILURE = StructType([each for each in FAILURES.fields if each.name not in ("seq", "id")])
ROWS = StructType([*MESSAGES.fields, StructField("failures", ArrayType(FAILURE))])
"""The columns of the archive's files: a message's, and its failed attempts, oldest first."""
FEW = 100_000
"""Failures that are sent to every task whole, instead of moving all the messages to them."""
DAY = 86_400_000_000


def chosen(spark: "SparkSession", url: str, plan: Plan, columns: StructType = MESSAGES) -> "DataFrame":
    """The finished messages of the store that a plan takes.

    Nothing that is finished later than the plan says may slip into its batch.
    """
    found = _table(spark, url, plan, "messages", columns).where(F.col("finished_at") < F.lit(plan.before))
    return found if plan.since is None else found.where(F.col("finished_at") >= F.lit(plan.since))


def finished(spark: "SparkSession", url: str, plan: Plan) -> "DataFrame":
    """The finished messages of the store that a plan takes, with their failures."""
    found = chosen(spark, url, plan)
    failures = _table(spark, url, plan, "failures", FAILURES)
    packed = failures.groupBy("seq").agg(_oldest_first(F.collect_list(F.struct(*FAILURE.fieldNames()))))
    packed = packed.toDF("seq", "failures")
    few = failures.limit(FEW + 1).count() <= FEW
    joined = found.join(F.broadcast(packed) if few else packed, "seq", "left")
    nothing = F.array().cast(ArrayType(FAILURE))
    return joined.select(*MESSAGES.fieldNames(), F.coalesce("failures", nothing).alias("failures"))


def in_files(
    spark: "SparkSession", lake: Lake, paths: Sequence[str], *, tolerant: bool = False
) -> "DataFrame":
    """The rows of some files of the lake, each with the ``file`` it is in, as a URI.

    ``tolerant`` passes over what cannot be read.
    """
    if not paths:
        return spark.createDataFrame([], ROWS).withColumn("file", F.lit(""))
    reading = spark.read.schema(ROWS).option("ignoreCorruptFiles", tolerant)
    found = reading.parquet(*map(lake.for_spark, paths))
    return found.select("*", F.col("_metadata.file_path").alias("file"))


def archived(spark: "SparkSession", lake: Lake, manifests: Sequence[Manifest]) -> "DataFrame":
    """The messages of some batches of the archive, without those that the store took back."""
    whole = [each for each in manifests if not each.returned]
    found = _rows(spark, lake, whole)
    for each in manifests:
        if each.returned:
            found = found.unionAll(_without(_rows(spark, lake, [each]), each.returned))
    return found


def day() -> "Column":
    """The day on which a message was finished, in UTC whatever the session's time zone is."""
    days = F.floor(F.unix_micros("finished_at") / F.lit(DAY)).cast("int")
    return F.date_from_unix_date(days)


def summed() -> list["Column"]:
    """The aggregates of a checksum: rows, two sums of hashes, and the ends of the seqs."""
    row = F.xxhash64(*[_hashed(field) for field in ROWS.fields])
    return [
        F.count(F.lit(1)).alias("rows"),
        F.bit_xor(row).alias("mixed"),
        F.sum(F.shiftright(row, 32)).alias("total"),  # half of it: the sum of whole ones would overflow
        F.min("seq").alias("first_seq"),
        F.max("seq").alias("last_seq"),
    ]


def sum_of(row: Any) -> Sum:
    """A checksum from those aggregates."""
    return Sum(row["rows"], (row["mixed"] or 0) % WORD, (row["total"] or 0) % WORD)


def _table(spark: "SparkSession", url: str, plan: Plan, table: str, schema: StructType) -> "DataFrame":
    read = spark.read.format("rowmq").schema(schema).option("url", url).option("table", table)
    read = read.option("state", "done,dead").option("firstSeq", plan.first_seq)
    read = read.option("lastSeq", plan.last_seq)
    return (read.option("queue", plan.queue) if plan.queue is not None else read).load()


def _oldest_first(failures: "Column") -> "Column":
    def order(one: "Column", other: "Column") -> "Column":
        earlier = F.when(one.ended_at < other.ended_at, -1).when(one.ended_at > other.ended_at, 1)
        return earlier.otherwise(one.attempt - other.attempt)

    return F.array_sort(failures, order)


def _hashed(field: StructField) -> "Column":
    """A column as it can be hashed: a map has no order, so its entries are put into one."""
    return F.array_sort(F.map_entries(field.name)) if field.name == "metadata" else F.col(field.name)


def _rows(spark: "SparkSession", lake: Lake, manifests: Sequence[Manifest]) -> "DataFrame":
    paths = [part.path for each in manifests for part in each.files]
    return in_files(spark, lake, paths).select(*ROWS.fieldNames())


def _without(rows: "DataFrame", seqs: Sequence[int]) -> "DataFrame":
    schema = StructType([StructField("seq", LongType())])
    those = rows.sparkSession.createDataFrame([(seq,) for seq in seqs], schema)
    return rows.join(F.broadcast(those), "seq", "left_anti").select(*ROWS.fieldNames())

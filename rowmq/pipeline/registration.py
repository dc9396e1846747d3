"""Making ``format("rowmq")`` known to a Spark session."""

from typing import TYPE_CHECKING

from rowmq.pipeline.session import check_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """Let a session read and write with ``format("rowmq")``.

    Spark also finds the format by itself, unless another package that it looks at is broken. Raises
    MissingDependency if pyspark is too old.
    """
    check_spark()
    from rowmq.pipeline.source import RowMQSource  # noqa: PLC0415 - not for everybody who imports us

    spark.dataSource.register(RowMQSource)

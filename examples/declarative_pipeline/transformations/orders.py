"""What customers ordered, from the queue `orders`: kept, and counted."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

spark = SparkSession.active()


@dp.table
def orders() -> DataFrame:
    """Each message of the queue, once: it is acked when the table has it."""
    stream = spark.readStream.format("rowmq").option("urlEnv", "ROWMQ_URL").option("queue", "orders")
    messages = stream.option("payloadSchema", "customer string, amount double").load()
    return messages.select("id", "created_at", "payload.customer", "payload.amount")


@dp.materialized_view
def customers() -> DataFrame:
    """What each customer has ordered, counted anew at each run."""
    table = spark.read.table("orders")
    return table.groupBy("customer").agg(F.count("*").alias("orders"), F.sum("amount").alias("amount"))

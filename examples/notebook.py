"""A queue in a notebook: opened as one by Jupyter (with Jupytext), VS Code, PyCharm and Databricks.

`python examples/notebook.py` runs it from top to bottom. It needs `pip install 'rowmq[spark]'` and Java 17.
"""

# %% [markdown]
# # A queue in a notebook

# %%
import os
import tempfile

from pyspark.sql import functions as F  # noqa: N812 - its usual name

import rowmq
from rowmq.pipeline import handled, register, session
from rowmq.pipeline.reporting.report import figures

URL = os.environ.get("ROWMQ_URL", f"sqlite:///{tempfile.mkdtemp()}/notebook.db")
spark = session()  # the notebook's own, if there is one
register(spark)
mq = rowmq.connect(URL)
mq.queue("orders", max_attempts=1)
mq.queue("bills")

# %% [markdown]
# ## A DataFrame becomes messages
# Every row of it or none, and once, however often Spark tries.

# %%
customers = F.concat(F.lit("customer "), F.col("id") % 4)
orders = spark.range(100).select(
    F.struct(customers.alias("customer"), (F.col("id") * 1.5).alias("amount")).alias("payload"),
    F.create_map(F.lit("shop"), F.when(F.col("id") % 3 == 0, "web").otherwise("store")).alias("metadata"),
)
orders.write.format("rowmq").option("url", URL).option("queue", "orders").mode("append").save()
print("pushed:", mq.queue("orders").stats().ready)

# %% [markdown]
# ## Messages become a DataFrame
# Reading changes nothing. The payload is JSON text, or columns, if you say which.

# %%
read = spark.read.format("rowmq").option("url", URL).option("queue", "orders")
table = read.option("payloadSchema", "customer string, amount double").load()
table.groupBy("payload.customer", "state").agg(F.sum("payload.amount").alias("amount")).orderBy(
    "customer"
).show()

# %% [markdown]
# ## A stream claims, handles and acks them
# A message whose handler raises is retried or buried alone; the others go on.


# %%
def bill(message: rowmq.ClaimedMessage) -> dict[str, object]:
    """Runs on the executors; what it returns is the next queue's payload."""
    if message.payload["amount"] > 140:  # noqa: PLR2004 - too much to be true
        raise rowmq.Kill(f"nobody pays {message.payload['amount']}")
    return {"to": message.payload["customer"], "amount": message.payload["amount"]}


stream = spark.readStream.format("rowmq").option("url", URL).option("queue", "orders").load()
bills = handled(stream, bill, url=URL).selectExpr("result AS payload").writeStream.format("rowmq")
bills = bills.option("url", URL).option("queue", "bills").option("checkpointLocation", tempfile.mkdtemp())
bills.trigger(availableNow=True).start().awaitTermination()
print("done:", mq.queue("orders").stats().done, "dead:", mq.queue("orders").stats().dead)
print("bills:", mq.queue("bills").stats().ready)

# %% [markdown]
# ## What happened
# The figures of `rowmq report`, as rows for pandas or any plotting library.

# %%
found = figures(spark, URL, by="shop")
for row in found.tables["by_metadata"]:
    print(row["queue"], row["value"], row["pushed"], row["done"], row["dead"])
for row in found.tables["errors"]:
    print(row["failures"], "times:", row["error"])

# %%
mq.close()

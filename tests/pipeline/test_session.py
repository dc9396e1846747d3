"""A session: what RowMQ sets, and what of the user's it leaves alone."""

from rowmq.pipeline.session import _named


def test_a_setting_with_dots_keeps_its_underscores() -> None:
    assert _named("spark.executorEnv.ROWMQ_URL") == "spark.executorEnv.ROWMQ_URL"
    assert _named("spark_sql_shuffle_partitions") == "spark.sql.shuffle.partitions"

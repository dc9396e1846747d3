"""Where Spark finds ``format("rowmq")`` by itself: it imports every top-level module named ``pyspark_...``.

If one of them raised, Spark would find none of them. So this is light, and never raises.
"""

from contextlib import suppress

with suppress(Exception):
    from rowmq.pipeline.source import RowMQSource as DefaultSource

__all__ = ["DefaultSource"]

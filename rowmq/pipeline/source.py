"""``format("rowmq")``: what Spark finds under that name."""

from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from rowmq.pipeline.reading.columns import columns_of


class RowMQSource(DataSource):
    """Reads messages in bulk or as a stream, and writes them.

    Each part is loaded when it is asked for: Spark makes a source in each of its processes.
    """

    @classmethod
    def name(cls) -> str:
        """What is given to ``format``."""
        return "rowmq"

    def schema(self) -> StructType | str:
        """The columns of what the options ask for, the same for a batch and a stream."""
        return columns_of(self.options)

    def reader(self, schema: StructType) -> Any:
        """Reads what is there now."""
        from rowmq.pipeline.reading.reader import BatchReader  # noqa: PLC0415 - only where it is used

        return BatchReader(self.options, schema)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802 - Spark's name
        """Claims what comes, and acks it once it is processed."""
        from rowmq.pipeline.stream.reader import StreamReader  # noqa: PLC0415 - only where it is used

        return StreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:  # noqa: FBT001 - Spark's signature
        """Pushes a DataFrame, all of it or nothing."""
        from rowmq.pipeline.writing.sink import BatchWriter  # noqa: PLC0415 - only where it is used

        return BatchWriter(self.options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: FBT001, N802 - Spark's signature
        """Pushes each batch of a stream once."""
        from rowmq.pipeline.writing.sink import StreamWriter  # noqa: PLC0415 - only where it is used

        return StreamWriter(self.options, schema, overwrite=overwrite)

"""Long bodies and results are compressed with LZ4 on PostgreSQL, in daily partitions too."""

from contextlib import closing
from typing import cast

import pytest
from sqlalchemy import text

from rowmq.engine import Ack, Batch, Want, open_store
from rowmq.stores.sql.store import SQLStore
from rowmq.testing.build import message, settle

LONG = b'"' + b"x" * 20_000 + b'"'


@pytest.mark.parametrize("options", ["", "&partitions=day"])
def test_what_is_long_is_compressed_with_lz4_and_comes_back_whole(postgres_url: str, options: str) -> None:
    with closing(cast("SQLStore", open_store(f"{postgres_url}{options}"))) as store:
        store.queues.put("q")
        store.push([Batch("q", [message(body=LONG)])])
        ((delivery,),) = store.claim("q", [Want()])
        assert delivery.body == LONG
        settle(store, delivery, Ack(LONG))
        with store.database.engine.connect() as connection:
            how = connection.execute(text("SELECT pg_column_compression(body) FROM rowmq_messages")).scalar()
            kept = connection.execute(text("SELECT pg_column_compression(result) FROM rowmq_outcomes"))
            assert (how, kept.scalar()) == ("lz4", "lz4")

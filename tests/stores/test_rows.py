"""The quick ways that claims use give what the plain ways give."""

from __future__ import annotations

import copy
import pickle
import random
from uuid import UUID, uuid4

from rowmq.stores.fresh import uuid_of
from rowmq.stores.sql.rows import Owing, in_order, order


def test_a_uuid_made_quickly_is_an_ordinary_uuid() -> None:
    plain = uuid4()
    quick = uuid_of(plain.int)
    assert type(quick) is UUID
    assert (quick, hash(quick), str(quick), quick.version, quick.is_safe) == (
        plain,
        hash(plain),
        str(plain),
        plain.version,
        plain.is_safe,
    )
    assert pickle.loads(pickle.dumps(quick)) == copy.deepcopy(quick) == plain  # noqa: S301 - our own bytes


def test_rows_sorted_quickly_are_in_claim_order() -> None:
    draw = random.Random(1)  # noqa: S311 - the same rows each time, no secret
    rows = [
        Owing(
            *(seq, 1, draw.randrange(3), draw.randrange(3), None, None, 0, 0),
            *(None, None, None, None, None, 0, None),
        )
        for seq in draw.sample(range(100), 100)
    ]
    assert in_order(rows) == sorted(rows, key=order)

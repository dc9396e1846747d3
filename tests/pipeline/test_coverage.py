"""Which deletions explain which missing messages; no Spark is needed."""

from rowmq.pipeline.auditing.coverage import Coverage, balance
from rowmq.pipeline.lake.manifest import Expired


def went(first: int, last: int, count: int | None = None) -> Expired:
    return Expired(count=last - first + 1 if count is None else count, first_seq=first, last_seq=last)


def test_deletions_that_overlap_are_one_stretch_and_others_are_not() -> None:
    coverage = Coverage([("purge", went(1, 5, 2)), ("archive", went(5, 9, 3)), ("drop", went(20, 30, 4))])
    assert coverage.ranges == [(1, 9), (20, 30)]
    assert [(each.deleted, each.archived) for each in coverage.stretches] == [(5, 3), (4, 0)]


def test_a_stretch_inside_another_does_not_make_it_shorter() -> None:
    assert Coverage([("purge", went(1, 9)), ("purge", went(2, 3)), ("purge", went(8, 12))]).ranges == [
        (1, 12)
    ]


def test_what_was_deleted_is_explained_and_what_was_not_is_not() -> None:
    coverage = Coverage([("purge", went(1, 10, 4))])
    assert balance(coverage, 20, {0: 6, -1: 10}, {}).unexplained == 0
    assert balance(coverage, 20, {0: 5, -1: 8}, {}).unexplained == 3
    assert balance(coverage, 20, {0: 5, -1: 8}, {}).gone == 7


def test_a_deletion_of_what_is_there_is_counted_as_such() -> None:
    assert balance(Coverage([("purge", went(1, 10, 4))]), 10, {0: 9}, {}).overcounted == 3


def test_what_was_deleted_as_archived_must_be_in_the_archive() -> None:
    coverage = Coverage([("archive", went(1, 10)), ("purge", went(11, 20))])
    assert balance(coverage, 20, {}, {0: 10}).lost == 0
    assert balance(coverage, 20, {}, {0: 8}).lost == 2
    assert balance(coverage, 20, {}, {}).unexplained == 0


def test_what_the_archive_let_go_is_not_lost() -> None:
    coverage = Coverage([("archive", went(1, 10))], [went(1, 4)])
    assert balance(coverage, 10, {}, {0: 6}).lost == 0
    assert balance(coverage, 10, {}, {0: 5}).lost == 1


def test_without_deletions_every_seq_must_be_there() -> None:
    assert balance(Coverage([]), 5, {-1: 5}, {}).unexplained == 0
    assert balance(Coverage([]), 5, {-1: 3}, {}).unexplained == 2

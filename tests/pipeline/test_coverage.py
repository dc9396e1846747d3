"""Which deletions explain which missing messages; no Spark is needed."""

from datetime import UTC, datetime, timedelta

from rowmq.core.history import LedgerEntry
from rowmq.pipeline.auditing.coverage import Balance, Coverage, balance
from rowmq.pipeline.auditing.narrowing import Answer, coverage_of, narrowed
from rowmq.pipeline.auditing.scope import Scope
from rowmq.pipeline.lake.manifest import Expired

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LEDGER = [
    LedgerEntry(NOW, "a", "archive", 10, 1, 10),
    LedgerEntry(NOW, "b", "archive", 5, 11, 15),
    LedgerEntry(NOW, "b", "purge", 2, 16, 17),
]


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


def answered(
    scope: Scope, archived: dict[int, int], *, lost: int = 3, unexplained: int = 0, strict: bool = True
) -> Answer:
    """What is said of a part, if the archive has let four messages of the first ten go."""
    whole = Balance(gone=17, deleted=17, unexplained=unexplained, overcounted=0, lost=lost)
    own, entries = coverage_of(scope, LEDGER, [went(1, 4)]), scope.entries(LEDGER)
    return narrowed(scope, whole, own, archived, entries, strict=strict, count=sum(archived.values()))


def test_what_a_queue_lost_is_known_where_the_archive_let_nothing_go() -> None:
    assert answered(Scope(queue="b"), {1: 2}) == Answer(3, 0, {"archive": 5, "purge": 2}, [])


def test_what_the_archive_let_go_of_others_does_not_hide_that_a_queue_may_have_lost_messages() -> None:
    found = answered(Scope(queue="a"), {0: 6})
    assert found.missing is None
    assert found.not_known[0].startswith("of 3 messages that are missing, 0 are known to be of this part")
    assert answered(Scope(queue="a"), {0: 6}, lost=0) == Answer(0, 0, {"archive": 10}, [])


def test_what_was_deleted_before_a_period_began_is_not_of_it() -> None:
    assert answered(Scope(since=NOW + timedelta(days=1)), {}, lost=0) == Answer(0, 0, {}, [])
    found = answered(Scope(since=NOW), {0: 6}, lost=0)
    assert (found.missing, found.deleted) == (0, {"archive": 6})
    assert found.not_known == [
        "2 messages were deleted (purge 2); whether they were created then is not known"
    ]


def test_a_seq_that_is_nowhere_makes_missing_unknown_only_where_it_means_a_loss() -> None:
    lost, never = (
        answered(Scope(queue="b"), {1: 5}, lost=0, unexplained=1, strict=each) for each in (True, False)
    )
    assert (lost.missing, lost.unexplained) == (None, None)
    assert (never.missing, never.unexplained) == (0, None)

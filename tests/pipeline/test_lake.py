"""The folder of an archive, its names and its manifests; no Spark is needed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from rowmq.core.errors import InvalidInput
from rowmq.pipeline.lake.folder import LONGEST, Lake, folder_name
from rowmq.pipeline.lake.manifest import Batches, Expired, Manifest, Part, Plan, Sum, added
from rowmq.pipeline.lake.upkeep import gatherable

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 5, 1, 9, 30, 0, 123456, tzinfo=UTC)


def part(path: str = "dt=2026-05-01/queue=q/batch=a/p.parquet", rows: int = 3, size: int = 10) -> Part:
    return Part(path=path, rows=rows, bytes=size, checksum=Sum(rows, 5, 7).text, first_seq=1, last_seq=rows)


def manifest(batch: str, *parts: Part, pruned: bool = True, replaces: tuple[str, ...] = ()) -> Manifest:
    return Manifest(
        batch=batch,
        plan=Plan(batch=batch, first_seq=1, last_seq=9, before=NOW, replaces=replaces),
        rows=sum(each.rows for each in parts),
        bytes=sum(each.bytes for each in parts),
        checksum=added(each.sum for each in parts).text,
        first_seq=1,
        last_seq=9,
        files=parts,
        pruned=pruned,
        replaces=replaces,
    )


@pytest.mark.parametrize("name", ["emails", "a b", "a/b", "..", "100%", "a=b", "{x}*?[y]", "Zoë 会"])
def test_a_queues_folder_is_one_name_that_says_the_queues(name: str) -> None:
    folder = folder_name(name)
    assert not set(folder) & set("/=*?[]{}:'\"\\")
    assert unquote(folder) == name


def test_a_lake_that_spark_finds_by_s3a_is_the_same_bucket_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # or Amazon is asked where the bucket is
    for path in ("s3a://bucket/lake", "s3a://bucket/lake?region=eu-west-1"):
        lake = Lake(path)
        assert (lake._files.type_name, lake._root, lake.is_local) == ("s3", "bucket/lake", False)
        assert (lake.address, lake.for_spark("dt=1")) == (path, "s3a://bucket/lake/dt=1")


def test_names_that_are_too_long_for_a_folder_are_told_apart_by_a_hash() -> None:
    names = ["/" * 255, "/" * 254, "é" * 255, "é" * 254, "x" * 255, "x" * 254]
    folders = [folder_name(name) for name in names]
    assert len(set(folders)) == len(names)
    assert all(len(each.encode()) <= LONGEST for each in folders)


def test_a_sum_of_parts_is_the_sum_of_the_whole_in_any_order() -> None:
    one, two, three = Sum(1, 2**63 + 5, 2**64 - 1), Sum(2, 7, 9), Sum(3, 2**63, 1)
    assert one + two + three == three + one + two == added([two, three, one])
    assert (one + two).rows == 3
    assert Sum.parse(1, one.text) == one


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    batches = Batches(Lake(str(tmp_path)))
    written = manifest("a", part(), pruned=False)
    batches.plan(written.plan)
    batches.save(written)
    assert batches.manifest("a") == written
    assert batches.manifests() == [written]
    assert batches.planned() == [written.plan]
    done = batches.finish(written, [3, 1])
    assert (done.pruned, done.returned, batches.planned()) == (True, (1, 3), [])
    assert batches.manifest("a") == done
    assert batches.manifest("b") is None


def test_a_batch_that_another_replaces_is_not_read(tmp_path: Path) -> None:
    batches = Batches(Lake(str(tmp_path)))
    for each in (manifest("a", part()), manifest("b", part()), manifest("c", part(), replaces=("a", "b"))):
        batches.save(each)
    assert [each.batch for each in batches.manifests()] == ["c"]


def test_a_batch_that_was_undone_before_it_was_finished_is_not_read(tmp_path: Path) -> None:
    batches = Batches(Lake(str(tmp_path)))
    batches.save(manifest("a", part(), pruned=False))
    assert batches.manifests() == []
    batches.plan(manifest("a").plan)
    assert [each.batch for each in batches.manifests()] == ["a"]


def test_a_batch_that_is_forgotten_leaves_nothing_and_others_stay(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    batches = Batches(lake)
    for name in "ab":
        path = f"dt=2026-05-01/queue=q/batch={name}/p.parquet"
        lake.write(path, {})
        lake.write(f"_staging/{name}/p.parquet", {})
        batches.plan(Plan(batch=name, first_seq=1, last_seq=9, before=NOW))
    batches.save(manifest("a", part("dt=2026-05-01/queue=q/batch=a/p.parquet")))
    batches.forget("a")
    left = sorted(found.path for found in lake.files(""))
    assert left == ["_batches/b.plan.json", "_staging/b/p.parquet", "dt=2026-05-01/queue=q/batch=b/p.parquet"]
    batches.forget("b")
    assert (lake.files(""), lake.days()) == ([], [])


def test_a_document_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    lake.write("_batches/a.json", {"old": True})
    with pytest.raises(TypeError):
        lake.write("_batches/a.json", {"new": object()})
    assert lake.read("_batches/a.json") == {"old": True}
    assert [found.path for found in lake.files("")] == ["_batches/a.json"]


def test_a_newer_rowmqs_manifest_is_refused(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    Batches(lake).save(manifest("a", part()))
    lake.write("_batches/a.json", lake.read("_batches/a.json") | {"version": 2})
    with pytest.raises(InvalidInput, match="batch a is a newer RowMQ's: update this one"):
        Batches(lake).manifests()


def test_a_folder_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is no archive: rowmq archive --to"):
        Lake(str(tmp_path)).check_there()
    Lake(str(tmp_path)).prepare()
    Lake(str(tmp_path)).check_there()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"cannot be written.*choose a folder that you may write"):
        Lake(str(tmp_path / "file" / "lake")).prepare()


def test_an_address_that_no_file_system_has_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no folder that an archive can be in"):
        Lake("gopher://host/lake")


def test_only_small_files_of_finished_batches_are_gathered_and_only_if_they_get_fewer() -> None:
    small = [manifest(name, part(f"dt=2026-05-01/queue=q/batch={name}/p.parquet")) for name in "abc"]
    large = manifest("d", part("dt=2026-05-01/queue=q/batch=d/p.parquet", size=2**30))
    unfinished = manifest("e", part("dt=2026-05-01/queue=q/batch=e/p.parquet"), pruned=False)
    assert [[each.batch for each in group] for group in gatherable([*small, large, unfinished])] == [
        list("abc")
    ]
    apart = [manifest(name, part(f"dt=2026-05-01/queue={name}/batch={name}/p.parquet")) for name in "abc"]
    assert list(gatherable(apart)) == []


def test_what_expired_is_kept_in_the_manifest(tmp_path: Path) -> None:
    gone = Expired(count=3, first_seq=1, last_seq=9)
    batches = Batches(Lake(str(tmp_path)))
    batches.save(replace(manifest("a", part()), expired=(gone,)))
    assert batches.manifests()[0].expired == (gone,)
    assert json.loads((tmp_path / "_batches" / "a.json").read_text())["expired"][0]["count"] == 3

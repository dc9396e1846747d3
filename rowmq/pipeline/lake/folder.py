"""The folder of an archive: where its files are, and how they are written so that no crash leaves half.

::

    LAKE/dt=2026-05-01/queue=emails/batch=20260501T030000-1f0c9a2b/part-....zstd.parquet
    LAKE/_batches/20260501T030000-1f0c9a2b.plan.json     what a batch will hold, until it is finished
    LAKE/_batches/20260501T030000-1f0c9a2b.json          its manifest: what it holds
    LAKE/_staging/20260501T030000-1f0c9a2b/              what is being written
    LAKE/_replays/...                                    what has been replayed

Spark, DuckDB and others see only the first kind: names that begin with ``_`` are hidden from them.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from rowmq.core.errors import InvalidInput

BATCHES, STAGING, REPLAYS = "_batches", "_staging", "_replays"
LONGEST = 200
"""Bytes of a folder's name; file systems end at 255."""
_PLAIN = re.compile(r"[A-Za-z0-9_.\- ]|[^\x00-\x7f]")
_CUT = re.compile(r"%[0-9A-F]?$")


@dataclass(frozen=True)
class Found:
    """A file of the lake, by its path inside it."""

    path: str
    size: int


class Lake:
    """A folder on this machine or in an object store, such as ``/data/lake`` or ``s3a://bucket/lake``."""

    def __init__(self, path: str) -> None:
        self.is_local = "://" not in path
        try:
            self.address = str(Path(path).absolute()) if self.is_local else path
            """The path as other processes can use it, too."""
            self._files, self._root = fs.FileSystem.from_uri(_for_arrow(self.address))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InvalidInput(f"{path!r} is no folder that an archive can be in: {error}") from None
        self.is_local = self.is_local or isinstance(self._files, fs.LocalFileSystem)
        self.path = path

    def prepare(self) -> None:
        """Make the folder, and see that it can be written; InvalidInput if it cannot."""
        try:
            for name in (BATCHES, STAGING):
                self._files.create_dir(self._inside(name), recursive=True)
            self.write(f"{STAGING}/.writable", {})
            self.delete(f"{STAGING}/.writable")
        except OSError as error:
            raise InvalidInput(
                f"the archive {self.path!r} cannot be written: {error}; choose a folder that you may write"
            ) from None

    def check_there(self) -> None:
        """Raise InvalidInput unless this is an archive."""
        if self._files.get_file_info(self._inside(BATCHES)).type != fs.FileType.Directory:
            raise InvalidInput(
                f"{self.path!r} is no archive: rowmq archive --to {self.path} makes one; is the path right?"
            )

    def for_spark(self, path: str) -> str:
        """The path of a file or folder of the lake as Spark takes it."""
        if not self.is_local:
            folder = self.path.partition("?")[0]  # what follows is said to Arrow; Spark has settings for it
            return f"{folder.rstrip('/')}/{path}"
        return f"file:{self._inside(path)}"  # without a scheme a cluster would look on its own file system

    def read(self, path: str) -> dict[str, Any]:
        """A JSON document."""
        with self._files.open_input_stream(self._inside(path)) as file:
            found: dict[str, Any] = json.loads(file.read())
            return found

    def write(self, path: str, document: dict[str, Any]) -> None:
        """Write a JSON document so that it is there whole or not at all, and survives a power loss."""
        self.write_bytes(path, json.dumps(document, indent=1).encode())

    def write_bytes(self, path: str, content: bytes) -> None:
        """Write a small file so that it is there whole or not at all, and survives a power loss."""
        target = self._inside(path)
        if self.is_local:
            _write_whole(Path(target), content)
            return
        with self._files.open_output_stream(target) as file:  # an object appears when it is complete
            file.write(content)

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return bool(self._files.get_file_info(self._inside(path)).type == fs.FileType.File)

    def names(self, folder: str, suffix: str) -> list[str]:
        """The names, without this suffix, of the folder's files that end in it, sorted."""
        return sorted(
            name.removesuffix(suffix)
            for found in self.files(folder, recursive=False)
            if (name := found.path.rpartition("/")[2]).endswith(suffix)
        )

    def files(self, folder: str, *, recursive: bool = True) -> list[Found]:
        """The files in a folder; none if there is no such folder."""
        chosen = fs.FileSelector(self._inside(folder), allow_not_found=True, recursive=recursive)
        found = self._files.get_file_info(chosen)
        start = len(self._root.rstrip("/")) + 1
        return [Found(each.path[start:], each.size) for each in found if each.type == fs.FileType.File]

    def days(self) -> list[str]:
        """The days that have folders, as ``2026-05-01``, sorted."""
        found = self._files.get_file_info(fs.FileSelector(self._inside(""), allow_not_found=True))
        names = [each.base_name for each in found if each.type == fs.FileType.Directory]
        return sorted(name.removeprefix("dt=") for name in names if name.startswith("dt="))

    def move(self, source: str, target: str) -> None:
        """Move one file; the folder it goes to is made, and both are on disk before this returns."""
        self._files.create_dir(self._inside(target.rpartition("/")[0]), recursive=True)
        if self.is_local:
            _flush(Path(self._inside(source)))
        self._files.move(self._inside(source), self._inside(target))
        if self.is_local:
            _flush(Path(self._inside(target)).parent)

    def delete(self, path: str) -> None:
        """Delete a file; one that is gone is deleted."""
        with suppress(FileNotFoundError):
            self._files.delete_file(self._inside(path))

    def delete_folder(self, path: str) -> None:
        """Delete a folder with all it holds; one that is gone is deleted."""
        with suppress(FileNotFoundError):
            self._files.delete_dir(self._inside(path))

    def delete_files(self, paths: Iterable[str]) -> None:
        """Delete files, and the folders that have nothing left in them."""
        for path in paths:
            self.delete(path)
            folder = path.rpartition("/")[0]
            while folder and self._is_empty(folder):
                self.delete_folder(folder)
                folder = folder.rpartition("/")[0]

    def batch_files(self, batch: str) -> Iterator[Found]:
        """The Parquet files of a batch, wherever they are."""
        for found in self.files("", recursive=True):
            if f"/batch={batch}/" in f"/{found.path}" and not found.path.startswith("_"):
                yield found

    def open(self, path: str) -> Any:
        """A file to be read at random."""
        return self._files.open_input_file(self._inside(path))

    def _is_empty(self, folder: str) -> bool:
        return not self._files.get_file_info(fs.FileSelector(self._inside(folder), allow_not_found=True))

    def _inside(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}".rstrip("/")


def folder_name(name: str) -> str:
    """A queue's name as Hive and Spark write it in a path; one that is too long ends in a hash of itself."""
    escaped = "".join(each if _PLAIN.match(each) else f"%{ord(each):02X}" for each in name)
    if len(escaped.encode()) <= LONGEST:
        return escaped
    start = _CUT.sub("", escaped.encode()[: LONGEST // 2].decode(errors="ignore"))
    return f"{start}~{sha256(name.encode()).hexdigest()[:32]}"


def _for_arrow(address: str) -> str:
    """The address as Arrow takes it: what Hadoop, and so Spark, calls s3a is s3 to everybody else."""
    return f"s3://{address.removeprefix('s3a://')}" if address.startswith("s3a://") else address


def _write_whole(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(target)
    _flush(target.parent)


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Prepared data: memory-mapped arrays beside a JSON with their hashes, written whole or not at all.

A task is prepared once: its raw files are read as streams, checked row by row, and written as ``<split>-<what>.npy``
into a temporary folder that is renamed when everything is on disk.  The folder's name carries the hash of the task's
configuration; ``prepared.json`` holds the configuration, the sources, the splits (name, size, seed, SHA-256 of the
index) and the SHA-256 of every array, all checked again at loading: the sources against the raw data that the task
finds then (``raw_data``).  Arrays are plain ``.npy``; a pickle is never read.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int, Integer, Shaped
from numpy import ndarray
from torch import Tensor

from training.config import as_plain, config_hash
from training.data.places import DataError, prepared_root
from training.data.raw_data import check_sources, describe_source, file_sha256
from training.data.sequences import Scaling, SequenceSet, TaskData
from training.errors import StorageError
from training.files import sync_folder, write_whole

SCHEMA_VERSION = 1
RECORD = "prepared.json"
SPLITS = ("train", "validation", "test")


@runtime_checkable
class FileTask(Protocol):
    """A task whose data are prepared: it writes arrays once and reads them at every load."""

    @property
    def name(self) -> str:
        """Short name, used in run names and folder names."""
        ...

    def find(self) -> Path | None:
        """Where the raw data are, at a glance; None for data that are made here; refused where they are missing."""
        ...

    def write(self, writer: Writer) -> None:
        """Read the raw data, check them, write the arrays."""
        ...

    def read(self, prepared: Prepared) -> TaskData:
        """The splits of prepared arrays."""
        ...


class Writer:
    """Writes the arrays of one task into a folder, and notes what they are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: dict[str, Any] = {"sources": {}, "splits": {}}

    def array(self, name: str, values: Shaped[ndarray, "..."]) -> None:
        """Write a whole array."""
        np.save(self.folder / f"{name}.npy", np.ascontiguousarray(values), allow_pickle=False)

    def rows(self, name: str, shape: tuple[int, ...], dtype: str, rows: Iterable[Shaped[ndarray, "..."]]) -> None:
        """Write an array row by row (a row is padded with 0 at its end); only one row is in memory."""
        width, kind, count = int(np.prod(shape[1:])), np.dtype(dtype), 0
        with (self.folder / f"{name}.npy").open("wb") as file:
            header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for row in rows:
                if row.size > width:
                    raise ValueError(f"row {count} of {name} has {row.size} numbers, more than {width}")
                file.write(row.astype(kind, casting="unsafe").tobytes() + bytes((width - row.size) * kind.itemsize))
                count += 1
        if count != shape[0]:
            raise DataError(
                f"data must not change while they are read: {name} had {shape[0]} rows and now {count}; prepare again"
            )

    def split(self, name: str, size: int, index: Int[ndarray, " samples"] | None = None, **notes: Any) -> None:
        """Note a split: where it has an index into a pool, the index's SHA-256."""
        if index is not None:
            notes["index_sha256"] = hashlib.sha256(np.asarray(index, dtype="<i8").tobytes()).hexdigest()
        self.notes["splits"][name] = {"samples": size, **notes}

    def source(self, path: Path) -> None:
        """Note a source: a file, or a folder with its digest."""
        self.notes["sources"][path.name] = describe_source(path)


class Prepared:
    """Arrays on disk, opened as memory maps."""

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder, self.record = folder, record

    def tensor(self, name: str) -> Shaped[Tensor, "..."]:
        """A memory-mapped array; writing to the tensor does not reach the file."""
        mapped = np.load(self.folder / f"{name}.npy", mmap_mode="c", allow_pickle=False)
        return torch.from_numpy(mapped.view(np.ndarray))

    def has(self, name: str) -> bool:
        """Whether an array was written."""
        return (self.folder / f"{name}.npy").is_file()

    def sequences(self, split: str, scaling: Scaling | None = None, classify: bool = False) -> SequenceSet:
        """One split; ``classify`` makes the stored bytes the reconstruction targets."""
        tokens = self.tensor(f"{split}-tokens")
        if self.has(f"{split}-lengths"):
            lengths = self.tensor(f"{split}-lengths").long()
        else:
            lengths = torch.full((len(tokens),), tokens.shape[1])
        targets = tokens[..., 0] if classify else None
        return SequenceSet(tokens, lengths, self.tensor(f"{split}-labels").long(), targets, scaling)

    def task_data(self, classes: int, scaling: Scaling | None = None, classify: bool = False) -> TaskData:
        """All splits; self-pretraining sees the training sequences; the test doubles as validation if none was cut."""
        train, test = self.sequences("train", scaling, classify), self.sequences("test", scaling, classify)
        own = self.has("validation-tokens")
        validation = self.sequences("validation", scaling, classify) if own else test
        return TaskData(train, validation, test, train.unlabeled(), classes, provenance=self.record)


def prepared_folder(task: FileTask) -> Path:
    """Where a task's arrays lie."""
    return prepared_root() / f"{task.name}-{config_hash(task)[:12]}"


def load_prepared(task: FileTask) -> TaskData:
    """The data of a task; prepared now if that was not done before."""
    folder = prepared_folder(task)
    if not (folder / RECORD).is_file():
        with _lock(folder):
            if not (folder / RECORD).is_file():  # another process may have done it while this one waited
                prepare(task, replace=False)
    return task.read(open_prepared(task, folder))


def prepare(task: FileTask, *, keep: bool = True, replace: bool = True) -> dict[str, Any]:
    """Read, check and write a task's data; returns the record.

    Without ``keep`` the arrays are dropped (a check); without ``replace`` a folder that appeared meanwhile stays.
    """
    folder = prepared_folder(task)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise _storage_error(folder, error) from error
    try:
        writer = Writer(work)
        task.write(writer)
        files = {path.name: _describe(path) for path in sorted(work.glob("*.npy"))}
        record = {"schema_version": SCHEMA_VERSION, "name": task.name, "config": as_plain(task), **writer.notes}
        record["files"] = files
        write_whole(work / RECORD, json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        if keep:
            _put_in_place(work, folder, replace)
        return record
    except OSError as error:
        if isinstance(error.filename, str) and not error.filename.startswith(str(work)):
            raise DataError(f"data must be readable: {error.filename}: {error.strerror}; correct its rights") from error
        raise _storage_error(folder, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _put_in_place(work: Path, folder: Path, replace: bool) -> None:
    """Rename; a folder without a record, or any with ``replace``, gives way."""
    sync_folder(work)
    work.chmod(0o755)
    if folder.exists() and (replace or not (folder / RECORD).is_file()):
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old."))
        with suppress(OSError):
            folder.rename(old)
        shutil.rmtree(old, ignore_errors=True)
    with suppress(OSError):
        work.rename(folder)
    if not (folder / RECORD).is_file():
        raise StorageError(f"prepared data must be written: {folder} cannot be made; choose another SPT_PREPARED")
    sync_folder(folder.parent)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """One process at a time prepares a task; the others wait (the system lets go of a lock whose holder died)."""
    path = folder.with_name(f".{folder.name}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise _storage_error(folder, error) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def open_prepared(task: FileTask, folder: Path) -> Prepared:
    """Prepared arrays, after a check of every hash and, where raw data are there, that these are still the same."""
    remedy, found = f"delete {folder} and prepare again", None
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        known = record["schema_version"] == SCHEMA_VERSION and record["config"] == json.loads(
            json.dumps(as_plain(task))
        )
        files, sources = record["files"], record["sources"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"prepared data need a whole {RECORD}: {folder / RECORD} is not one; {remedy}") from error
    if not known:
        raise DataError(f"prepared data must be of this task and version: {folder} holds others; {remedy}")
    for name, told in files.items():
        path = folder / name
        if not path.is_file() or file_sha256(path) != told["sha256"]:
            raise DataError(f"prepared data must be as they were written: {path} has another SHA-256; {remedy}")
    with suppress(DataError):  # raw data that are gone are not needed
        found = task.find()
    if found is not None:
        check_sources(sources, found, folder)
    return Prepared(folder, record)


def write_labeled(
    writer: Writer,
    split: str,
    tokens: Shaped[ndarray, "samples ..."],
    labels: Integer[ndarray, " samples"],
    **notes: Any,
) -> None:
    """Write the arrays of one split whose sequences have one length."""
    writer.array(f"{split}-tokens", tokens)
    writer.array(f"{split}-labels", labels.astype(np.int16))
    writer.split(split, len(tokens), labels=label_counts(labels), **notes)


def label_counts(labels: Integer[ndarray, " samples"]) -> Mapping[str, int]:
    """How often each label occurs, as JSON."""
    found, counts = np.unique(labels, return_counts=True)
    return {str(label): int(count) for label, count in zip(found, counts, strict=True)}


def _describe(path: Path) -> dict[str, Any]:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return {"sha256": file_sha256(path), "shape": list(array.shape), "dtype": str(array.dtype)}


def _storage_error(folder: Path, error: OSError) -> StorageError:
    return StorageError(
        f"prepared data must be written: {folder} failed ({error.strerror or error}); nothing half-written is left: "
        "free some space or choose another folder with SPT_PREPARED"
    )

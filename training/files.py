"""Files written whole or not at all: a temporary file in the same folder, flushed to disk, then renamed."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from training.errors import StorageError


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file; whoever reads it meets the old content or the new one, also after a crash."""
    data = content.encode() if isinstance(content, str) else content
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
        sync_folder(path.parent)
    except BaseException as error:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise storage_error(path, error) from error
        raise


def move_folder(source: Path, target: Path) -> None:
    """Rename a folder whose files are already on disk."""
    try:
        sync_folder(source)
        os.replace(source, target)
        sync_folder(target.parent)
    except OSError as error:
        raise storage_error(target, error) from error


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a crash."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def storage_error(path: Path, error: OSError) -> StorageError:
    """The sentence for a file that could not be written."""
    remedy = "free some space" if error.errno == errno.ENOSPC else "choose a folder that can be written with --runs"
    return StorageError(
        f"a run needs to write its files: {path} failed ({error.strerror or error}); nothing half-written is left: "
        f"{remedy} and start again, it goes on from the last checkpoint"
    )

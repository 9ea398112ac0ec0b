"""Raw data behind prepared arrays: what is noted of each source, and whether what lies there now is still the same.

A source is a file (size, time of modification, SHA-256) or a folder of many files (a digest that is cheap: of
PathFinder's metadata, or of the names and sizes of the reviews).  At every load the sources are looked for where the
task finds its data *now*, so that another data folder, or a file replaced in place, is noticed.  A file is hashed
again only where size and time of modification do not settle it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.data.pathfinder_metadata import metadata_files
from training.data.places import DataError

_DIGITS = 64


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read as a stream."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """Digest of a PathFinder level (content of its metadata) or of unpacked reviews (names and sizes)."""
    digest = hashlib.sha256()
    if (folder / "metadata").is_dir():
        for file in metadata_files(folder):
            digest.update(file.read_bytes())
        return digest.hexdigest()
    files = [
        file for split in ("train", "test") for kind in ("pos", "neg") for file in (folder / split / kind).glob("*")
    ]
    for file in sorted(files):
        digest.update(f"{file.relative_to(folder).as_posix()}\t{file.stat().st_size}\n".encode())
    return digest.hexdigest()


def describe_source(path: Path) -> dict[str, Any]:
    """What is noted of a source."""
    found, state = path.resolve(), path.stat()
    if path.is_dir():
        return {"path": str(found), "sha256": folder_digest(path)}
    return {
        "path": str(found),
        "bytes": state.st_size,
        "modified_ns": state.st_mtime_ns,
        "sha256": file_sha256(path),
    }


def check_sources(sources: Mapping[str, dict[str, Any]], found: Path, prepared: Path) -> None:
    """Refuse prepared arrays whose sources are not the raw data that are ``found`` now.

    A source that lies where it was is compared by size and, where the time of modification differs, by SHA-256 (records
    of old have no time); one that lies elsewhere by name, size and SHA-256.  Files that are gone cannot have changed.
    """
    folder = found if found.is_dir() else found.parent
    now = {name: found if found.name == name else folder / name for name in sources}
    in_place = any(path.resolve() == Path(sources[name]["path"]).resolve() for name, path in now.items())
    for name, note in sources.items():
        noted, path = Path(note["path"]).resolve(), now[name]
        if not path.exists() and in_place:
            path = noted  # one of several, found at another of the places that are looked at
        moved = path.resolve() != noted
        if not path.exists() and not moved:
            continue
        if why := _difference(path, note, moved):
            there = path if path.exists() else found
            where = f"prepared from {noted}, but the data are now {there}" if moved else f"prepared from {noted}"
            raise DataError(
                f"prepared data must be of the raw data that are there: {prepared} was {where}, which {why}; "
                f"delete {prepared} and prepare again, or name another folder with SPT_PREPARED"
            )


def _difference(path: Path, note: Mapping[str, Any], moved: bool) -> str | None:
    """What is not as it was noted; None where nothing is."""
    if not path.exists():
        return "holds no such file"
    if path.is_dir():
        known = len(note["sha256"]) == _DIGITS
        if not known:  # reviews, as noted before folders had a digest
            return "cannot be compared" if moved else None
        return None if folder_digest(path) == note["sha256"] else "holds other files"
    state = path.stat()
    if state.st_size != note["bytes"]:
        return f"has {state.st_size} bytes, not {note['bytes']}"
    if not moved and note.get("modified_ns", state.st_mtime_ns) == state.st_mtime_ns:
        return None
    return None if file_sha256(path) == note["sha256"] else "has another content"

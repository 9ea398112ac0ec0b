"""Archives unpacked safely: zip and tar, only folders and regular files, only inside the target, whole or not at all.

Refused: absolute paths, parent paths, drive letters and backslashes, links, devices, encrypted members, and anything
that unpacks to more than the stated number of bytes.
"""

from __future__ import annotations

import gzip
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from training.data.places import DataError

_BLOCK = 1 << 20
#: The Long-Range Arena unpacks to about 33 GB.
LARGEST = 100 << 30


@contextmanager
def unpacked(archive: Path, beside: Path, part: str = "", largest: int = LARGEST) -> Iterator[Path]:
    """A temporary folder below ``beside`` with the files of the archive; it is gone at the end, so move what you need.

    ``part`` keeps only what lies in a folder of that name, at any depth; every name is checked all the same.
    """
    beside.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=beside, prefix=".unpacking-"))
    try:
        left = largest
        for name, content in _members(archive):
            target = _inside(folder, name, archive)
            if part and part not in PurePosixPath(name).parts[:-1]:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with content, target.open("wb") as file:
                while block := content.read(_BLOCK):
                    left -= len(block)
                    if left < 0:
                        raise DataError(
                            f"an archive unpacks to at most {largest} bytes: {archive} holds more; unpack it by hand"
                        )
                    file.write(block)
        yield folder
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        if getattr(error, "filename", None):
            raise
        raise DataError(f"an archive must be whole: {archive} is not ({error}); fetch it again") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of every regular file."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                kind = (info.external_attr >> 16) & 0o170000
                if info.flag_bits & 1:
                    raise DataError(f"an archive must be open: {archive} is encrypted; unpack it by hand")
                if kind not in (0, 0o100000, 0o040000):
                    raise _refused(archive, info.filename, "a link or device")
                check_name(info.filename, archive)
                if not info.is_dir():
                    yield info.filename, zipped.open(info)
        return
    for member, file in tar_files(archive):
        yield member.name, file


def tar_files(archive: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """Every regular file of a tar archive (gzip or plain) and its content, read as a stream to the very end.

    Members that lead elsewhere, links and devices are refused.  Where the archive is cut off or damaged this raises
    (EOFError, OSError, zlib.error, tarfile.TarError): gzip's own length and checksum are looked at, which ``tarfile``
    alone does not do.
    """
    with archive.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = gzip.GzipFile(fileobj=raw) if zipped else raw
        with tarfile.open(fileobj=stream, mode="r|") as tarred:
            for member in tarred:
                check_name(member.name, archive)
                file = tarred.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield member, file
                elif not member.isdir():
                    raise _refused(archive, member.name, "a link or device")
        while stream.read(_BLOCK):
            pass


def check_name(name: str, archive: Path) -> None:
    """Refuse a member whose name leads outside the folder that it is unpacked to."""
    path = PurePosixPath(name)
    if path.is_absolute():
        raise _refused(archive, name, "an absolute path")
    if ".." in path.parts:
        raise _refused(archive, name, "a path to a parent folder")
    if "\\" in name or ":" in name or "\0" in name:
        raise _refused(archive, name, "a path of another system")


def _inside(folder: Path, name: str, archive: Path) -> Path:
    target = folder.joinpath(*PurePosixPath(name).parts)
    if folder.resolve() not in target.resolve().parents:
        raise _refused(archive, name, "a path outside its folder")
    return target


def _refused(archive: Path, name: str, what: str) -> DataError:
    return DataError(
        f"an archive holds only files and folders inside itself: {archive} has {name[:80]!r}, {what}; "
        "do not use it, fetch it again from its source"
    )

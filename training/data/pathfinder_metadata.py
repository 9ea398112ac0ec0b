"""Metadata of PathFinder: which images a level has, and their labels.

The files of the release, ``metadata/<k>.npy``, are plain text in spite of their name, the generator's are real arrays
of strings: both are read, an array of objects (a pickle) is refused.  An image that is named twice is refused, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from training.data.places import DataError
from training.data.tables import whole_label

CLASSES = 2


def metadata_files(level: Path) -> list[Path]:
    """The metadata files of a level, by number."""
    return sorted((level / "metadata").glob("*.npy"), key=lambda file: (len(file.stem), file.stem))


def read_metadata(level: Path) -> list[tuple[str, int]]:
    """Images and labels of a level, files by number, lines in order."""
    files = metadata_files(level)
    if not files:
        raise DataError(f"a level has metadata/<k>.npy beside imgs/: {level} has none; unpack the release whole")
    first: dict[str, str] = {}
    labels = []
    for file in files:
        for number, fields in _metadata_lines(file):
            if len(fields) < 4:
                raise DataError(
                    f"a metadata line names folder, file, number and label: {file}, line {number} has "
                    f"{len(fields)} fields, it may be cut off; get the file again"
                )
            image, where = PurePosixPath(fields[0], fields[1]), f"{file}, line {number}"
            if image.is_absolute() or ".." in image.parts:
                raise DataError(
                    f"images lie inside their level: {file}, line {number} names {fields[0]}/{fields[1]}; "
                    "get the file again"
                )
            if str(image) in first:
                raise DataError(
                    f"an image is named once, or it could be in train and test: {where} names {image} again, "
                    f"after {first[str(image)]}; get the file again"
                )
            first[str(image)] = where
            labels.append(whole_label(fields[3], CLASSES, file, number))
    return list(zip(first, labels, strict=True))


def _metadata_lines(file: Path) -> Iterator[tuple[int, list[str]]]:
    content = file.read_bytes()
    if content.startswith(b"\x93NUMPY"):
        try:
            array = np.load(file, allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            if "Object arrays" in str(error):
                raise DataError(
                    f"pickles are never read, they can run code: {file} holds objects; save it as text"
                ) from None
            raise DataError(f"a metadata array must be whole: {file} is cut off; get it again") from None
        if array.ndim != 2:
            raise DataError(f"a metadata array has one row an image: {file} has shape {array.shape}; get it again")
        yield from ((row + 1, [str(field) for field in fields]) for row, fields in enumerate(array))
        return
    if content.startswith(b"\x80"):
        raise DataError(f"pickles are never read, they can run code: {file} is one; save it as text")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"metadata are text or an array of strings: {file} is neither; get the file again") from None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, line.split()

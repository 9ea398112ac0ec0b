"""Tab-separated files read as streams, one line in memory: by column name, or with a fixed number of columns.

No quoting (a quote is a character), line ends LF, CRLF or both mixed, UTF-8.  Every error names file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from training.data.places import DataError, shown

#: No row of any release comes near; a file without line ends is refused before it fills the memory.
LONGEST_LINE = 1 << 24


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of every line that is not empty."""
    with path.open("rb") as file:
        if file.read(1) == b"\x80":
            raise DataError(f"pickles are never read, they can run code: {path} is one; get the text file")
        file.seek(0)
        number = 0
        while raw := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(raw) > LONGEST_LINE:
                raise DataError(
                    f"a line holds at most {LONGEST_LINE} bytes: {path}, line {number} is longer; get the file again"
                )
            try:
                line = raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise DataError(f"text must be UTF-8: {path}, line {number} is not; get the file again") from None
            if line:
                yield number, line


def named_columns(path: Path, names: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The named columns of every row, in the order asked for, wherever the header puts them."""
    rows = lines(path)
    _, header = next(rows, (0, ""))
    columns = header.lstrip("\ufeff").split("\t")
    missing = [name for name in names if name not in columns]
    if missing:
        raise DataError(
            f"the first line of {path.name} names its columns: {path} has no {missing[0]!r} but "
            f"{', '.join(map(shown, columns[:5]))}; "
            f"add the header {'<TAB>'.join(names)}"
        )
    places = [columns.index(name) for name in names]
    for number, line in rows:
        fields = _fields(line, len(columns), path, number)
        yield number, tuple(fields[place] for place in places)


def plain_columns(path: Path, count: int) -> Iterator[tuple[int, list[str]]]:
    """All columns of every row of a file without header."""
    for number, line in lines(path):
        yield number, _fields(line, count, path, number)


def _fields(line: str, count: int, path: Path, number: int) -> list[str]:
    fields = line.split("\t")
    if len(fields) != count:
        raise DataError(
            f"every line has {count} columns: {path}, line {number} has {len(fields)}, it may be cut off; "
            "get the file again"
        )
    return fields


def whole_label(text: str, classes: int, path: Path, number: int) -> int:
    """A label written ``1`` or ``1.0``, in 0..classes-1."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value not in range(classes):
        raise DataError(f"labels lie in 0..{classes - 1}: {path}, line {number} has {shown(text)}; get the file again")
    return int(value)

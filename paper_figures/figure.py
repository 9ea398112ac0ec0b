"""What a figure is: a name, its place in the paper, the files that it is drawn from, and a function that draws it.

A drawing carries the numbers that it shows; picture and numbers are saved side by side, all of them or none.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.kept import KeptRecords
from paper_figures.sources import Source
from paper_figures.style import figure_style

#: Picture formats, with the metadata that keeps two runs byte for byte equal.
FORMATS: Mapping[str, Mapping[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


@dataclass(frozen=True)
class Drawing:
    """A figure as drawn.

    Attributes:
        picture: the matplotlib figure.
        numbers: everything that it shows, ready for JSON.
        summary: one printed line for each fact.
        holds: whether all that the figure is to show was found so.
        extra: further files, by the ending of their name.
    """

    picture: Figure
    numbers: Mapping[str, Any]
    summary: tuple[str, ...]
    holds: bool
    extra: Mapping[str, str] = field(default_factory=dict)


#: Something that a figure needs, as a file of a folder of kept records.
Need = Callable[[KeptRecords], Source]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper.

    Attributes:
        name: as typed in ``python -m paper_figures make NAME``.
        title: one sentence.
        place: where the paper shows it.
        needs: the files that it is drawn from.
        draw: reads or measures what is to be shown, and draws.
    """

    name: str
    title: str
    place: str
    needs: tuple[Need, ...]
    draw: Callable[[KeptRecords], Drawing]

    def sources(self, kept: KeptRecords) -> tuple[Source, ...]:
        """The files that it is drawn from, where kept records are those given."""
        return tuple(need(kept) for need in self.needs)

    def drawing(self, kept: KeptRecords) -> Drawing:
        """The figure in the house's style."""
        with figure_style():
            return self.draw(kept)

    def missing(self, kept: KeptRecords) -> tuple[Source, ...]:
        """The sources that are not on disk."""
        return tuple(source for source in self.sources(kept) if not source.present)


def rendered(name: str, drawing: Drawing) -> dict[str, bytes]:
    """The content of every file of a drawing, by file name: pictures in each format, and the numbers as JSON.

    >>> sorted(rendered("empty", Drawing(Figure((1, 1)), {"schema_version": 1}, (), True)))
    ['empty.json', 'empty.pdf', 'empty.png', 'empty.svg']
    """
    contents = {}
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # it warns of the age of matplotlib's own fonts
    with figure_style():  # fonts and identifiers are settled on saving
        for suffix, metadata in FORMATS.items():
            buffer = io.BytesIO()
            drawing.picture.savefig(buffer, format=suffix, metadata=dict(metadata))
            contents[f"{name}.{suffix}"] = buffer.getvalue()
    extra = {f"{name}.{suffix}": text.encode() for suffix, text in drawing.extra.items()}
    return {**contents, **extra, f"{name}.json": (as_json(drawing.numbers) + "\n").encode()}


def as_json(numbers: Mapping[str, Any]) -> str:
    """Numbers as JSON with a list of numbers (a row of a matrix, a curve) on one line.

    >>> print(as_json({"row": [1, -2.5e-05]}))
    {
     "row": [1, -2.5e-05]
    }
    """
    whole = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[0][1:-1].split())}]", whole)


#: Line breaks keep it out of text, where JSON has none.
_NUMBERS = re.compile(r"\[\n\s*(?:-?\d[^\s,\]]*,?\n\s*)+\]")


def write_together(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write files so that none is ever half there: all are complete under other names before the first is renamed.

    Args:
        folder: made where it does not exist.
        contents: bytes of each file, by name.

    Returns:
        The paths written.

    Raises:
        OSError: if the disk refuses; the folder then holds no part of a file, and what lay there before stays whole.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_together(Path(folder), {"a.json": b"{}", "a.png": b"..."})]
    ['a.json', 'a.png']
    """
    folder.mkdir(parents=True, exist_ok=True)
    complete: dict[Path, str] = {}
    try:
        for name, content in contents.items():
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
            complete[folder / name] = temporary
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(temporary, 0o644)
        for path, temporary in complete.items():
            os.replace(temporary, path)
    finally:
        for temporary in complete.values():
            Path(temporary).unlink(missing_ok=True)
    return tuple(complete)

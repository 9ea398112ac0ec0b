"""The paper's statements beside our numbers, and the frame that all figures drawn from records share."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from matplotlib.figure import Figure, SubFigure

from paper_figures.figure import Drawing
from paper_figures.kept import Kept
from paper_figures.reported import Reported
from paper_figures.spread import Spread
from paper_figures.style import INK, PAGE, SMALL, VERMILLION

#: Characters of small text that a page's width holds.
_LINE = 140
#: Height of a line of small text, in inches.
_LEADING = 1.35 * SMALL / 72
#: Height of the title, in inches.
_HEAD = 0.45


@dataclass(frozen=True)
class Comparison:
    """A statement of the paper and what the record says about it.

    Attributes:
        statement: the paper's.
        ours: what was measured, in words and numbers.
        values: the numbers in ``ours``, by name.
    """

    statement: Reported
    ours: str
    values: Mapping[str, Spread | float]

    @property
    def line(self) -> str:
        """As printed beside the figure."""
        return f"{self.statement.means} – paper: {self.statement.says} ({self.statement.where}); ours: {self.ours}"

    def record(self) -> dict[str, Any]:
        """Ready for JSON."""
        ours = {name: value.record() if isinstance(value, Spread) else value for name, value in self.values.items()}
        return {"paper": asdict(self.statement), "ours": ours}


def sheet(height: float, title: str, kept: Kept, seeds: int | None) -> SubFigure:
    """The body of a page, for panels and legends, under the figure's title, its scale and its number of seeds."""
    runs = "nothing is trained" if seeds is None else f"{seeds} seed{'s' * (seeds != 1)}"
    small = " (shows that it works, decides nothing)" if kept.scale == "smoke" else ""
    return page(height, title, f"our reconstruction of the toy task, {kept.scale} scale{small}, {runs}")


def page(height: float, title: str, words: str) -> SubFigure:
    """The body of a page under a title and a line of words; ``write_below`` puts text under it."""
    picture = Figure(figsize=(PAGE, height))
    for place, (line, weight) in enumerate(((title, "bold"), (words, "normal"))):
        top = 1 - (0.08 + place * 0.17) / height
        picture.text(0.5, top, line, ha="center", va="top", fontsize=8.5, fontweight=weight)
    return picture.add_subfigure(picture.add_gridspec(1, 1)[0])


def finish(
    body: SubFigure,
    name: str,
    place: str,
    kept: Kept,
    comparisons: Sequence[Comparison],
    numbers: Mapping[str, object],
    notes: Sequence[str] = (),
) -> Drawing:
    """Write the comparisons below the picture, each with its verdict where there is one, and save all that it shows."""
    verdicts = [kept.verdicts(comparison.statement.predictions) for comparison in comparisons]
    lines = [
        f"{comparison.line}; {verdict}." if verdict else f"{comparison.line}."
        for comparison, verdict in zip(comparisons, verdicts, strict=True)
    ]
    warning = [kept.warning] if kept.stale else []
    picture = body.figure
    assert isinstance(picture, Figure)
    write_below(picture, [*notes, *lines], warning)
    saved = {
        "schema_version": 1,
        "figure": name,
        "source": place,
        "caption": " ".join([*notes, *lines, *warning]),
        "record": kept.provenance(),
        "compared": [
            {**comparison.record(), "verdict": verdict or None, "line": line}
            for comparison, verdict, line in zip(comparisons, verdicts, lines, strict=True)
        ],
        **numbers,
    }
    return Drawing(picture, saved, (f"drawn from {kept.name} at {kept.scale} scale", *lines, *warning), True)


def write_below(picture: Figure | SubFigure, notes: Sequence[str], warning: Sequence[str]) -> None:
    """Small text under the panels, which keep to the space between it and the title."""
    assert isinstance(picture, Figure)
    lines = [(line, INK) for note in notes for line in _wrapped(note)]
    lines += [(line, VERMILLION) for note in warning for line in _wrapped(note)]
    height = picture.get_figheight()
    for count, (line, colour) in enumerate(reversed(lines)):
        picture.text(0.06 / PAGE, (0.06 + count * _LEADING) / height, line, fontsize=SMALL, color=colour, va="bottom")
    bottom, top = (0.16 + len(lines) * _LEADING) / height, 1 - _HEAD / height
    engine = picture.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0.0, bottom, 1.0, top - bottom))  # type: ignore[call-arg]


def _wrapped(note: str) -> list[str]:
    """Lines that do not part a number from its sign or unit."""
    for loose, tight in ((" %", "\u00a0%"), ("± ", "±\u00a0"), ("× ", "×\u00a0"), (" seed", "\u00a0seed")):
        note = note.replace(loose, tight)
    return textwrap.wrap(note, _LINE, subsequent_indent="    ", break_long_words=False)

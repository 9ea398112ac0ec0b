"""The closing table: what was timed, beside what, within which budget.  A row over its budget is marked, not hidden."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One line; ``seconds`` (wall) is ``None`` for what was not run, and ``note`` then says why.

    ``ratio`` is this row's processor seconds over those of ``beside``, unless ``beside`` says "share".
    """

    what: str
    seconds: float | None
    cpu: float | None = None
    ratio: float | None = None
    beside: str = ""
    budget: float | None = None
    note: str = ""

    @property
    def inside(self) -> bool | None:
        """Whether the wall seconds are within the budget; ``None`` where there is no budget or no time."""
        return None if self.budget is None or self.seconds is None else self.seconds <= self.budget

    def record(self) -> dict[str, Any]:
        """The row for ``results.json``."""
        return {**asdict(self), "inside": self.inside}


def seconds_text(seconds: float | None) -> str:
    """Three digits in a fitting unit: 1.23 ms, 12.3 s, 123 s."""
    if seconds is None:
        return ""
    value, unit = next(
        (seconds * f, u) for f, u in ((1, "s"), (1e3, "ms"), (1e6, "µs")) if seconds * f >= 1 or f == 1e6
    )
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def ratio_text(row: Row) -> str:
    """The ratio with what it stands beside."""
    if row.ratio is None:
        return row.beside
    if row.beside.startswith("share"):
        return f"{row.ratio:.0%} {row.beside.removeprefix('share ')}"
    number = f"{row.ratio:,.0f}" if row.ratio >= 100 else f"{row.ratio:.2g}"
    return f"{number} × {row.beside}"


def verdict_text(row: Row) -> str:
    """``inside``, ``OVER`` or nothing."""
    return {True: "inside", False: "OVER BUDGET", None: ""}[row.inside]


def render(rows: Sequence[Row], width: int) -> str:
    """The table as text, made for terminals of at least 100 columns."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("what")
    for heading in ("seconds", "processor"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("ratio")
    table.add_column("budget", justify="right", no_wrap=True)
    table.add_column("")
    for row in rows:
        table.add_row(
            f"{row.what} ({row.note})" if row.note and row.seconds is not None else row.what,
            seconds_text(row.seconds) or "not run",
            seconds_text(row.cpu),
            ratio_text(row) if row.seconds is not None else row.note,
            seconds_text(row.budget),
            verdict_text(row),
        )
    written = io.StringIO()
    Console(file=written, width=max(width, 100), highlight=False, markup=False).print(table)
    return written.getvalue()

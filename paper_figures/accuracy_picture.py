"""The picture of a table of accuracies: a panel a task, a line an arm, the paper's hollow above ours.

Arms that neither the paper nor ours has a number for stand in the table alone, which says why.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.accuracy import Cell, Cells
from paper_figures.lra import NOT_RUN, TASKS
from paper_figures.spread import bars_said
from paper_figures.style import BLUE, FAINT, INK, ORANGE, PAGE, SMALL

_APART = 0.17


def picture(cells: Cells) -> Figure:
    """Accuracies of every arm; each panel has its own scale, because tasks differ in their chance level."""
    there = [cell for cell in cells.cells if cell.said is not None or cell.values["peak"] is not None]
    lines = list(dict.fromkeys((cell.arm, cell.split) for cell in there))
    if cells.table.order is not None:
        lines.sort(key=lambda line: (cells.table.order(line[0]), line[1]))  # type: ignore[misc]
    height = 1.25 + 0.23 * len(lines)
    drawn = Figure(figsize=(PAGE, height))
    scale = f"ours at {cells.found.scale} scale, the paper's at its own" if cells.found.kept else f"ours: {NOT_RUN}"
    drawn.suptitle(f"Table {cells.table.number}: {cells.table.title}\n{scale}", fontsize=8.5)
    panels = drawn.subplots(1, len(cells.table.tasks), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, cells.table.tasks, strict=True):
        _panel(axes, [cell for cell in there if cell.task == task], lines)
        axes.set_title(TASKS[task], fontsize=SMALL + 0.5)
    names = [f"{cells.table.words(arm)}{f' ({split})' if split else ''}" for arm, split in lines]
    panels[0].set_yticks(range(len(lines)), labels=names)
    panels[0].set_ylim(len(lines) - 0.4, -0.6)
    drawn.legend(handles=_handles(there), loc="outside lower center", ncols=3)
    return drawn


def _panel(axes: Axes, cells: list[Cell], lines: list[tuple[str, str]]) -> None:
    for cell in cells:
        place = float(lines.index((cell.arm, cell.split)))
        if cell.said is not None:
            value, deviation = cell.said.value["accuracy"], cell.said.value.get("deviation")
            axes.errorbar(
                value, place - _APART, xerr=deviation, fmt="D", color=ORANGE, markerfacecolor="white", markersize=3.5,
                elinewidth=0.8, capsize=1.5,
            )  # fmt: skip
        peak, final = cell.values["peak"], cell.values["final"]
        if final is not None:
            axes.plot(final.mean, place + _APART, "|", color=FAINT, markersize=5.5)
        if peak is not None:
            ends = [[end] for end in peak.reach] if peak.seeds > 1 else None
            axes.errorbar(
                peak.mean, place + _APART, xerr=ends, fmt="o", color=BLUE, markersize=3.2, elinewidth=0.8, capsize=1.5
            )
    if all(cell.values["peak"] is None for cell in cells):
        axes.text(
            0.97, 0.02, f"ours: {NOT_RUN}", transform=axes.transAxes, ha="right", va="bottom", fontsize=SMALL, color=INK
        )
    axes.grid(axis="both", color=FAINT, alpha=0.2, linewidth=0.5)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel("accuracy", fontsize=SMALL)


def _handles(cells: list[Cell]) -> list[Line2D]:
    bars = bars_said(cell.values["peak"] for cell in cells)
    peak = f"ours, peak ({bars})" if bars else "ours, peak"
    return [
        Line2D(
            [], [], color=ORANGE, marker="D", markerfacecolor="white", linestyle="", markersize=3.5,
            label="paper, ± sd where printed",
        ),
        Line2D([], [], color=BLUE, marker="o", linestyle="", markersize=3.2, label=peak),
        Line2D([], [], color=FAINT, marker="|", linestyle="", markersize=5.5, label="ours, final"),
    ]  # fmt: skip

"""Figure 3: accuracy over the length of self-pretraining (Table 7) and over depth (Table 8), the paper's and ours.

The paper's numbers are those that its Tables 7 and 8 print for this figure; ours have axes of their own, because an
epoch at laptop scale is not the paper's.  Checked by ``tests/paper_figures/test_lra_figures.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from paper_figures import accuracy
from paper_figures.accuracy import Cell, Cells
from paper_figures.accuracy_tables import mean
from paper_figures.beside import page, write_below
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords
from paper_figures.lra import NOT_RUN, TASKS, say_not_run, scale_note, sources_of
from paper_figures.reported import Reported, reported
from paper_figures.spread import Spread, bars_said
from paper_figures.style import BLUE, FAINT, GREEN, ORANGE, SMALL, VERMILLION
from paper_figures.table07 import TABLE_7, epochs
from paper_figures.table08 import KINDS, TABLE_8, kind, layers

TITLE = "Accuracy over epochs of self-pretraining (SPT) and over depth"
PLACE = "arXiv 2605.21070, Figure 3 (numbers: Tables 7 and 8)"
_KINDS = {
    "scratch": ("labels alone", VERMILLION, "o"),
    "spt-finetune": ("SPT", BLUE, "s"),
    "swapped": ("SPT, other set", GREEN, "^"),
}
_DASHES: Mapping[str, Any] = {"val": "-", "train": (0, (1.5, 1.2))}


def draw(kept: KeptRecords) -> Drawing:
    """Read the records of table7 and table8, as far as there are any, and draw."""
    lengths, depths, paper = accuracy.read(TABLE_7, kept), accuracy.read(TABLE_8, kept), reported("fig03")
    body = page(7.4, TITLE, _scales(lengths, depths))
    picture = body.figure
    assert isinstance(picture, Figure)
    halves = body.add_gridspec(2, 1, height_ratios=(1.1, 1))
    top, bottom = body.add_subfigure(halves[0]), body.add_subfigure(halves[1])
    _lengths(top, lengths)
    _depths(bottom, depths)
    lines = [_compared(one, lengths) for one in paper.values()]
    notes = [f"Table {cells.table.number}. {scale_note(cells.found)}".replace("`", "") for cells in (lengths, depths)]
    warning = [cells.found.kept.warning for cells in (lengths, depths) if cells.found.kept and cells.found.kept.stale]
    write_below(picture, [*notes, *lines], warning)
    numbers = {
        "schema_version": 1,
        "figure": FIGURE.name,
        "source": PLACE,
        "caption": " ".join([*notes, *lines]),
        "records": [cells.found.kept.provenance() for cells in (lengths, depths) if cells.found.kept is not None],
        "compared": lines,
        "lengths": [cell.record() for cell in lengths.cells],
        "depths": [cell.record() for cell in depths.cells],
    }
    return Drawing(picture, numbers, (*notes, *lines, *warning), True)


def _scales(*both: Cells) -> str:
    said = [f"{cells.found.scale} scale" if cells.found.kept else NOT_RUN for cells in both]
    bars = bars_said(cell.values["peak"] for cells in both for cell in cells.cells)
    return f"upper panels the paper's, lower ours: epochs {said[0]}, depth {said[1]}{'; ' * bool(bars)}{bars}"


def _compared(one: Reported, lengths: Cells) -> str:
    """A statement of the paper beside our gains at each length."""
    gains = [
        f"{TASKS[cell.task]} {cell.arm.removeprefix('spt-')}: {mean(cell.gains['peak'], signed=True)}"
        for cell in lengths.cells
        if cell.gains["peak"] is not None
    ]
    own = f"{'; '.join(gains)} ({lengths.found.scale} scale)" if gains else f"{NOT_RUN}: {lengths.found.command}"
    shown = own if one.id == "ten-epochs" or not gains else "as above"
    return f"{one.means} – paper: {one.says} ({one.where}); ours, gain by epochs of SPT: {shown}."


def _lengths(area: SubFigure, cells: Cells) -> None:
    area.suptitle("peak held-out accuracy over epochs of SPT", fontsize=8)
    panels = area.subplots(2, len(TABLE_7.tasks), squeeze=False)
    for column, task in enumerate(TABLE_7.tasks):
        there = [cell for cell in cells.cells if cell.task == task]
        said = [(epochs(cell.arm), cell.said.value["accuracy"]) for cell in there if cell.said is not None]
        panels[0, column].plot(*zip(*said, strict=True), "D-", color=ORANGE, markerfacecolor="white", markersize=3.5)
        panels[0, column].set_title(TASKS[task], fontsize=SMALL + 0.5)
        own = [(epochs(cell.arm), cell.values["peak"]) for cell in there if cell.values["peak"] is not None]
        _own(panels[1, column], own, BLUE, "o", there)
        for axes, points in ((panels[0, column], said), (panels[1, column], own)):
            if not points:
                continue
            axes.set_xscale("symlog", linthresh=1, linscale=0.4)
            ticks = [at for at, _ in points if at not in (100, 150)]
            axes.set_xticks(ticks, labels=[str(tick) for tick in ticks])
            axes.set_xticks([], minor=True)
        panels[1, column].set_xlabel("epochs of SPT", fontsize=SMALL)
    panels[0, 0].set_ylabel("paper", fontsize=SMALL)
    panels[1, 0].set_ylabel("ours", fontsize=SMALL)


def _own(axes: Axes, points: Sequence[tuple[int, Spread | None]], colour: str, marker: str, cells: list[Cell]) -> None:
    found = [(at, point) for at, point in points if point is not None]
    if not found:
        say_not_run(axes, _why(cells), 34)
        return
    ends = list(zip(*(point.reach for _, point in found), strict=True))
    axes.errorbar([at for at, _ in found], [point.mean for _, point in found], ends, fmt=f"{marker}-", color=colour,
                  markersize=3.5, elinewidth=0.8, capsize=2)  # fmt: skip


def _why(cells: Sequence[Cell]) -> str:
    return next((cell.why for cell in cells if cell.why), NOT_RUN)


def _depths(area: SubFigure, cells: Cells) -> None:
    area.suptitle("accuracy over layers: held-out (lines) and training (dotted)", fontsize=8)
    panels = area.subplots(1, 4)
    panels[2].sharey(panels[0])
    for place, task in enumerate(TABLE_8.tasks):
        there = [cell for cell in cells.cells if cell.task == task]
        for offset, who in enumerate(("paper", "ours")):
            axes = panels[2 * place + offset]
            axes.set_title(f"{TASKS[task]}: {who}", fontsize=SMALL)
            axes.set_xlabel("layers", fontsize=SMALL)
            shown = [cell for cell in there if (cell.said if who == "paper" else cell.values["peak"]) is not None]
            ticks = sorted({layers(cell.arm) for cell in shown or there})
            axes.set_xticks(ticks)
            axes.set_xlim(min(ticks) - 0.3, max(ticks) + 0.3)
            for trained in KINDS:
                for split in ("val", "train"):
                    _depth_line(axes, [c for c in there if kind(c.arm) == trained and c.split == split], who)
            if who == "ours" and not shown:
                say_not_run(axes, _why(there), 20)
    handles = [Line2D([], [], color=c, marker=m, markersize=3.5, label=words) for words, c, m in _KINDS.values()]
    handles += [
        Line2D([], [], color=FAINT, linestyle=_DASHES[s], label=w)
        for s, w in (("val", "held-out"), ("train", "training"))
    ]
    area.legend(handles=handles, loc="outside lower center", ncols=5)


def _depth_line(axes: Axes, cells: Sequence[Cell], who: str) -> None:
    points = []
    for cell in cells:
        if who == "paper" and cell.said is not None:
            points.append((layers(cell.arm), cell.said.value["accuracy"], (0.0, 0.0)))
        peak = cell.values["peak"]
        if who == "ours" and peak is not None:
            points.append((layers(cell.arm), peak.mean, peak.reach))
    if not points:
        return
    _, colour, marker = _KINDS[kind(cells[0].arm)]
    at, value, reach = zip(*points, strict=True)
    ends = list(zip(*reach, strict=True)) if who == "ours" else None
    axes.errorbar(at, value, ends, color=colour, marker=marker, markersize=3.5,
                  linestyle=_DASHES[cells[0].split], elinewidth=0.8, capsize=2)  # fmt: skip


FIGURE = PaperFigure("fig03", TITLE, PLACE, sources_of((("table7", "table07"), ("table8", "table08"))), draw)

"""Inconsistencies in the paper, and claims that are contested, as one page.

Nothing here is typed from the paper by hand: numbers come from ``reported/``, whose quotes are tested against the
paper, and differences are computed.  The picture shows the claim that matters most: what pretraining on the other data
set restores.  Checked by ``tests/paper_figures/test_errata.py``.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paper_figures.contested import DEEPEST, Contested, Evidence, contested, records_note
from paper_figures.errata_arithmetic import Erratum
from paper_figures.errata_checked import appendix_against_code, consistent
from paper_figures.errata_list import errata
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords
from paper_figures.lra import NOT_RUN, TASKS
from paper_figures.reported import FOLDER
from paper_figures.sources import Source
from paper_figures.style import BLUE, INK, ORANGE, PAGE, SMALL
from paper_figures.typeset import Column, Table, latex, markdown, web_page

TITLE = "Errata of the paper, and its contested claims"
PLACE = "arXiv 2605.21070v1"


def draw(kept: KeptRecords) -> Drawing:
    """Compute the errata from the paper's numbers, and read what our records say about contested claims."""
    evidence = Evidence(kept)
    found, claims, gaps = errata(), contested(evidence), appendix_against_code()
    tables = [_errata_table(found), _contested_table(claims, records_note(evidence)), _code_table(gaps)]
    numbers: dict[str, Any] = {
        "schema_version": 1,
        "figure": FIGURE.name,
        "source": PLACE,
        "errata": [asdict(one) for one in found],
        "contested": [asdict(one) for one in claims],
        "appendix against code": [list(row) for row in gaps],
        "consistent": list(consistent()),
    }
    kinds = list(dict.fromkeys(one.kind for one in found))
    counts = ", ".join(f"{sum(one.kind == kind for one in found)} {kind}" for kind in kinds)
    summary = (f"{len(found)} errata ({counts})", f"{len(claims)} contested claims", *consistent())
    extra = {"md": markdown(tables), "tex": latex(tables, "errata"), "html": web_page(tables, "errata.png")}
    return Drawing(_picture(evidence), numbers, summary, True, extra)


def _text(*names: str) -> tuple[Column, ...]:
    return tuple(Column("", name, text=True, prose=True) for name in names)


def _errata_table(found: tuple[Erratum, ...]) -> Table:
    columns = _text("where", "printed", "should be", "how we know", "kind")
    kinds = list(dict.fromkeys(one.kind for one in found))
    blocks = tuple(
        tuple((one.where, one.printed, one.should, one.how, one.kind) for one in found if one.kind == kind)
        for kind in kinds
    )
    notes = (
        "Read off our Markdown copy of arXiv 2605.21070v1, in which the second block of Table 3 and the captions of "
        "Figures "
        "3, 8 and 9 are lost; a printed number stands for all values that round to it.",
        *consistent(),
    )
    return Table(TITLE, columns, blocks, notes)


def _contested_table(claims: tuple[Contested, ...], notes: tuple[str, ...]) -> Table:
    columns = _text("the paper", "where", "against it", "our records: gains, peak, ± 95 %")
    rows = tuple((one.claim, one.where, one.against, one.ours) for one in claims)
    return Table("Contested claims", columns, (rows,), notes)


def _code_table(gaps: tuple[tuple[str, str, str, str], ...]) -> Table:
    columns = _text("task", "choice", "appendix A", "code base")
    tasks = list(dict.fromkeys(row[0] for row in gaps))
    blocks = tuple(tuple(row for row in gaps if row[0] == task) for task in tasks)
    note = "The code base is IdoAmos/not-from-scratch, commit f919137, which the paper says that it used."
    return Table("Appendix A against the code base", columns, blocks, (note,))


def _picture(evidence: Evidence) -> Figure:
    """Gains by pretraining on the task's own and on the other data set, in training and in validation accuracy."""
    picture = Figure(figsize=(PAGE, 3.3))
    picture.suptitle(
        "Pretraining on the other data set restores the fit, not the validation accuracy? (Table 8)", fontsize=8.5
    )
    panels = picture.subplots(1, 4, sharey=True)
    cells = evidence.cells[8]
    scale = f"ours, {cells.found.scale} scale" if cells.found.kept is not None else "ours"
    depths = sorted({int(cell.arm[0]) for cell in cells.cells if cell.values["peak"] is not None}) or [1]
    for place, (task, layers) in enumerate(DEEPEST.items()):
        theirs = {
            (kind, split): evidence.paper(8, f"{task} {layers}-layer {kind} {split}")
            - evidence.paper(8, f"{task} {layers}-layer scratch {split}")
            for kind in ("spt-finetune", "swapped")
            for split in ("train", "val")
        }
        _bars(panels[2 * place], theirs, f"{TASKS[task]}\npaper, {layers} layers")
        own = {}
        for kind, split in theirs:
            gain = next(
                (c.gains["peak"] for c in cells.cells if c.id == f"{task} {depths[-1]}-layer {kind} {split}"), None
            )
            if gain is not None:
                own[kind, split] = gain.mean
        title = f"{TASKS[task]}\n{scale}{f', {depths[-1]} layers' if own else ''}"
        _bars(panels[2 * place + 1], own, title)
    panels[0].set_ylabel("gain over labels alone")
    handles = [
        Patch(color=BLUE, label="SPT on the task's own data"),
        Patch(color=ORANGE, label="SPT on the other data set"),
    ]
    picture.legend(handles=handles, loc="outside lower center", ncols=2)
    return picture


def _bars(axes: Axes, gains: dict[tuple[str, str], float], title: str) -> None:
    axes.set_title(title, fontsize=SMALL)
    axes.axhline(0, color=INK, linewidth=0.6)
    for (kind, split), gain in gains.items():
        own = kind == "spt-finetune"
        axes.bar((split == "val") + (-0.2 if own else 0.2), gain, width=0.36, color=BLUE if own else ORANGE)
    axes.set_xticks([0, 1], labels=["training", "held-out"])
    axes.set_xlim(-0.6, 1.6)
    if not gains:
        axes.text(0.5, 0.5, NOT_RUN, transform=axes.transAxes, ha="center", fontsize=SMALL)


FIGURE = PaperFigure(
    "errata",
    TITLE,
    PLACE,
    (lambda kept: Source("the paper's numbers, and kept records where there are any", FOLDER / "statements.json",
                         "git checkout paper_figures/reported"),),
    draw,
)  # fmt: skip

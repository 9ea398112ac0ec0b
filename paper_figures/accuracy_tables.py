"""Tables 1 to 5 and 7 to 9 as they are set: Markdown, LaTeX, HTML and a picture, from one description each.

The paper reports the "final peak held-out validation accuracy"; here the peak on the test split is judged and the value
after the last epoch, which needs no choice, stands beside it.  Checked by ``tests/paper_figures/test_lra_tables.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from paper_figures.accuracy import MOMENTS, AccuracyTable, Cell, Cells, read
from paper_figures.accuracy_picture import picture
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords
from paper_figures.lra import NOT_RUN, TASKS, Ours, choices, need, scale_judged, scale_note
from paper_figures.reported import reported
from paper_figures.spread import Spread
from paper_figures.style import plain
from paper_figures.typeset import Column, Table, latex, markdown, web_page
from training.predictions.prediction import Judgement

NOT_JUDGED = "not judged"


def figure_of(table: AccuracyTable) -> PaperFigure:
    """The drawing of a table of accuracies."""
    return PaperFigure(
        table.figure,
        table.title,
        table.place,
        (lambda kept: need(kept, table.name, table.figure),),
        lambda kept: draw(table, kept),
    )


def draw(table: AccuracyTable, kept: KeptRecords) -> Drawing:
    """Read the record, if there is one, judge the predictions by it, and set the table."""
    cells = read(table, kept)
    found = cells.found
    every = (found, *cells.others)
    there = [one.kept for one in every if one.kept is not None]
    warning = tuple(one.warning for one in there if one.stale)
    notes = (*notes_of(cells), *warning)
    tables = [_table(cells, notes), *_verdict_table(cells.verdicts, found), *_choice_table(every)]
    source = [
        f"drawn from {one.name} at {one.scale} scale" if one.kept else f"no record of {one.name}: {NOT_RUN}"
        for one in every
    ]
    numbers = {
        "schema_version": 1,
        "figure": table.figure,
        "source": table.place,
        "caption": " ".join(notes),
        "scale": found.scale if found.kept is not None else None,
        "records": [one.provenance() for one in there],
        "compared": [{"paper": asdict(one)} for one in reported(table.figure).values()],
        "rows": [cell.record() for cell in cells.cells],
        "verdicts": [verdict_record(one) for one in cells.verdicts],
        "choices": next((choices(one).to_dicts() for one in every if one.kept is not None), []),
    }
    extra = {
        "md": markdown(tables),
        "tex": latex(tables, table.figure),
        "html": web_page(tables, f"{table.figure}.png"),
    }
    return Drawing(picture(cells), numbers, (*source, *_lines(cells), *warning), True, extra)


def _table(cells: Cells, notes: Sequence[str]) -> Table:
    scale = f"{cells.found.scale} scale" if cells.found.kept is not None else NOT_RUN
    columns = (
        Column("", "data set", text=True),
        Column("", "trained", text=True),
        Column("paper", "accuracy"),
        Column("paper", "gain"),
        *(Column(f"ours, {scale}, {moment}", name) for moment in MOMENTS for name in ("accuracy", "gain")),
        Column("", "n"),
        Column("", "verdict", text=True),
    )
    blocks = tuple(tuple(_row(cells, cell) for cell in cells.cells if cell.task == task) for task in cells.table.tasks)
    title = f"Table {cells.table.number} and ours: {cells.table.title}"
    return Table(title, columns, blocks, tuple(notes))


def _row(cells: Cells, cell: Cell) -> tuple[str, ...]:
    trained = f"{cells.table.words(cell.arm)} ({cell.split})" if cell.split else cells.table.words(cell.arm)
    accuracy, gain = printed(cell)
    own = [text for m in MOMENTS for text in (mean(cell.values[m]), mean(cell.gains[m], signed=True))]
    if cells.table.base(cell.arm) is None:
        own[1] = own[3] = ""
    peak = cell.values["peak"]
    if peak is None:
        own = [NOT_RUN if cell.arm not in cells.table.theirs else "", "", "", ""]
    seeds = "" if peak is None else f"{peak.seeds}{f' ({cell.stuck} at chance)' if cell.stuck else ''}"
    if peak is not None and cell.scale != cells.found.scale:
        seeds += f", {cell.scale} scale"
    verdict = cell.why or _verdicts(cell)
    return (TASKS[cell.task], trained, accuracy, gain, *own, seeds, verdict)


def _verdicts(cell: Cell) -> str:
    if len(cell.verdicts) == 1:
        return verdict_words(cell.verdicts[0], cell.scale)
    return (
        "; ".join(
            f"{one.prediction.id.rpartition('laptop-')[2]}: {verdict_words(one, cell.scale)}" for one in cell.verdicts
        )
        or NOT_JUDGED
    )


def printed(cell: Cell) -> tuple[str, str]:
    """The paper's accuracy and its gain, as printed; a dash where our copy has none."""
    if cell.said is None:
        return "–", ""
    accuracy, _, gain = cell.said.says.partition(" (")
    return accuracy.replace(" ", "\N{NO-BREAK SPACE}"), gain.removesuffix(")").replace("-", "−")


def mean(found: Spread | None, *, signed: bool = False) -> str:
    """Mean and half the width of Student's 95 % interval; a single seed has none."""
    if found is None:
        return NOT_RUN
    text = plain(found.mean, "+.3f" if signed else ".3f")
    if found.seeds < 2:
        return text
    return f"{text}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{(found.high - found.low) / 2:.3f}"


def verdict_words(one: Judgement, scale: str) -> str:
    """A verdict with its scale and what was asked; at a smaller scale nothing of the paper is contradicted."""
    word = {"contradicted": "not so (contradicted)"}.get(one.verdict, one.verdict)
    if one.suggestive:
        word += ", suggestive"
    p = "" if one.p_holm is None else f", p = {one.p_holm:.2g}"
    at = "" if one.verdict == "not run" else f" at {scale_judged(one, scale)} scale"
    return f"{word}{at} (asked: {_bound(one)}{p})"


def _bound(one: Judgement) -> str:
    return one.prediction.bound.removeprefix("mean over seeds ").replace("-", "−")


def notes_of(cells: Cells) -> tuple[str, ...]:
    """What stands below every table of accuracies."""
    table, found = cells.table, cells.found
    extra = tuple(scale_note(one) for one in cells.others if one.kept is None or one.scale != found.scale)
    return (
        scale_note(found),
        *extra,
        "Ours: mean ± half the width of Student's 95 % interval over n seeds; gains are paired within seeds. Paper: as "
        "printed (± is the standard deviation over 5 seeds; without ± a single seed), at the paper's scale.",
        "Peak: the best evaluated epoch, chosen on the split that it is measured on, as the paper's “final peak "
        "held-out validation accuracy” is; final: after the last epoch, nothing chosen.",
        "A verdict needs the interval and exact sign flips with Holm's correction; fewer than 6 seeds are at most "
        "inconclusive. Seeds vary initial weights, order and masks, not the data.",
        *table.notes,
    )


def _lines(cells: Cells) -> list[str]:
    """One line a task: what is at hand, without the whole table."""
    lines = []
    for task in cells.table.tasks:
        there = [cell for cell in cells.cells if cell.task == task]
        run = [cell for cell in there if cell.values["peak"] is not None]
        why = next((cell.why for cell in there if cell.why and cell.arm not in cells.table.theirs), "")
        counts = f"{len(run)} of {len(there)} cells are ours"
        lines.append(f"{TASKS[task]}: {counts}{f'; {why}' if why else ''}")
    return lines


def _verdict_table(verdicts: Sequence[Judgement], found: Ours) -> list[Table]:
    """Every prediction of the table, whether or not a cell is about it."""
    if not verdicts:
        return []
    texts = ("prediction", "bound")
    numbers = ("effect ± 95 %", "p (Holm)", "n", "detects")
    columns = (
        *(Column("", name, text=True) for name in texts),
        *(Column("", name) for name in numbers),
        Column("", "verdict", text=True),
    )
    rows = tuple(_verdict_row(one) for one in verdicts)
    note = "Detects: the distance from the bound that these seeds would have found with power .8."
    scale = scale_judged(verdicts[0], found.scale)
    return [Table(f"Predictions, judged at {scale} scale", columns, (rows,), (note,))]


def _verdict_row(one: Judgement) -> tuple[str, ...]:
    cells = ["–"] * 4
    if one.effect is not None and one.low is not None and one.high is not None:
        half = (
            "" if not np.isfinite(one.high) else f"\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{(one.high - one.low) / 2:.3f}"
        )
        detects = one.minimum_detectable_effect
        cells = [
            f"{plain(one.effect, '+.3f')}{half}",
            "–" if one.p_holm is None else f"{one.p_holm:.2g}",
            str(one.seeds),
            "–" if detects is None or not np.isfinite(detects) else f"{detects:.2g}",
        ]
    return (one.prediction.sentence, _bound(one), *cells, f"{one.verdict}{', suggestive' if one.suggestive else ''}")


def _choice_table(every: Sequence[Ours]) -> list[Table]:
    """The choices of the first record there is, one row where tasks share one."""
    table = next((choices(one) for one in every if one.kept is not None), None)
    if table is None or table.is_empty():
        return []
    shared: dict[tuple[str, ...], list[str]] = {}
    for task, *choice in table.select("dataset", "name", "value", "source", "elsewhere").iter_rows():
        shared.setdefault(tuple(choice), []).append(task)
    columns = tuple(Column("", name, text=True) for name in ("choice", "value", "source or reason", "elsewhere", "for"))
    rows = tuple((*choice, ", ".join(tasks)) for choice, tasks in sorted(shared.items(), key=lambda pair: pair[0][0]))
    return [Table("What was chosen", columns, (rows,))]


def verdict_record(one: Judgement) -> dict[str, Any]:
    """A judgement, ready for JSON."""
    names = ("verdict", "suggestive", "effect", "low", "high", "p_value", "p_holm", "seeds")
    values = {name: getattr(one, name) for name in names}
    finite = {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()}
    return {"id": one.prediction.id, "bound": one.prediction.bound, **finite}

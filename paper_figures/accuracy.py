"""Accuracies of the paper's tables beside ours: which arms, what the paper prints, what the record holds.

A condition is named ``"<task> <arm>"`` in our records and in ``reported/``.  Arms are those of the paper, then those
that are ours (as many updates, independent initial weights), then whatever else a record holds; none is left out.
Checked by ``tests/paper_figures/test_lra_tables.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars

from paper_figures.arms import scratch_of, words
from paper_figures.kept import KeptRecords
from paper_figures.lra import Ours, judged, ours
from paper_figures.reported import Reported, reported
from paper_figures.spread import Spread, spread
from training.errors import MissingRecord
from training.predictions.measures import run_gain, run_value
from training.predictions.prediction import Judgement, Measure

MOMENTS = ("peak", "final")


@dataclass(frozen=True)
class AccuracyTable:
    """A table of accuracies of the paper.

    Attributes:
        number: the table's.
        title: what it shows.
        tasks: those that the paper has, by the names of our records, then ours (shown where a record has them).
        own: arms that are ours, by task or for all (``""``).
        theirs: arms that stand in the paper alone, with the reason.
        words: an arm as it is shown.
        base: the arm over which another gains.
        order: sorts the arms of a task; None leaves them as they come.
        splits: ending of the paper's identifiers, with the split of ours.
        also: further experiments of ours whose runs stand in the table.
        judged: predictions about cells that the paper does not have; those about its own stand in ``reported/``.
        notes: what else a reader must know.
    """

    number: int
    title: str
    tasks: tuple[str, ...]
    own: tuple[str, ...] = ()
    theirs: Mapping[str, str] = field(default_factory=dict)
    words: Callable[[str], str] = words
    base: Callable[[str], str | None] = scratch_of
    order: Callable[[str], Any] | None = None
    splits: Mapping[str, str] = field(default_factory=lambda: {"": "test"})
    also: tuple[str, ...] = ()
    judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Of the experiment."""
        return f"table{self.number}"

    @property
    def figure(self) -> str:
        """Of the drawing and of the paper's numbers."""
        return f"table{self.number:02}"

    @property
    def place(self) -> str:
        """In the paper."""
        return f"arXiv 2605.21070, Table {self.number}"


@dataclass(frozen=True)
class Cell:
    """One accuracy: what the paper prints and what ours is.  A missing one is None, never filled in.

    Attributes:
        task: of the Long-Range Arena.
        arm: what was trained.
        split: ending of the paper's identifier (``train``, ``val``), or empty.
        said: the paper's.
        values: ours, by moment.
        gains: ours over the base arm, within seeds, by moment.
        stuck: runs that never left chance.
        why: why there is none of ours.
        verdicts: of the predictions about this cell.
        scale: of ours.
    """

    task: str
    arm: str
    split: str
    said: Reported | None
    values: Mapping[str, Spread | None]
    gains: Mapping[str, Spread | None]
    stuck: int
    why: str
    verdicts: tuple[Judgement, ...]
    scale: str

    @property
    def id(self) -> str:
        """As in ``reported/``."""
        return f"{self.task} {self.arm} {self.split}".strip()

    def record(self) -> dict[str, Any]:
        """Ready for JSON."""

        def plain(found: Mapping[str, Spread | None]) -> dict[str, Any]:
            return {moment: None if one is None else one.record() for moment, one in found.items()}

        return {
            "id": self.id,
            "paper": None if self.said is None else self.said.value,
            "accuracy": plain(self.values),
            "gain": plain(self.gains),
            "stuck": self.stuck,
            "why": self.why,
            "scale": self.scale,
            "verdicts": {one.prediction.id: one.verdict for one in self.verdicts},
        }


@dataclass(frozen=True)
class Cells:
    """A whole table: its cells, what is at hand (of further experiments too), and the predictions judged."""

    table: AccuracyTable
    found: Ours
    others: tuple[Ours, ...]
    cells: tuple[Cell, ...]
    verdicts: tuple[Judgement, ...]

    def at(self, id: str) -> Cell:
        """The cell of an identifier."""
        return next(cell for cell in self.cells if cell.id == id)


def read(table: AccuracyTable, kept: KeptRecords) -> Cells:
    """The cells of a table, task by task."""
    paper, found = reported(table.figure), tuple(ours(kept, name) for name in (table.name, *table.also))
    verdicts = tuple(verdict for one in found for verdict in judged(one, table.number))
    arms = {task: _arms(table, found, paper, task) for task in table.tasks}
    cells = tuple(
        _cell(table, _holder(found, f"{task} {arm}"), paper, verdicts, task, arm, split)
        for task in table.tasks
        for arm in arms[task]
        for split in table.splits
    )
    with_arms = replace(table, tasks=tuple(task for task in table.tasks if arms[task]))
    return Cells(with_arms, found[0], found[1:], cells, verdicts)


def _holder(found: Sequence[Ours], condition: str) -> Ours:
    """The experiment that has run a condition, else the one that would."""
    run = [one for one in found if condition in one.conditions]
    would = [one for one in found if one.would_run(condition)]
    return (*run, *would, found[0])[0]


def _arms(table: AccuracyTable, found: Sequence[Ours], paper: Mapping[str, Reported], task: str) -> list[str]:
    """The paper's arms of a task, ours, and what else the record holds."""
    theirs = [_arm(id, table) for id in paper if id.partition(" ")[0] == task]
    run = [name.partition(" ")[2] for one in found for name in one.conditions if name.partition(" ")[0] == task]
    own = [arm for arm in table.own if theirs or any(one.would_run(f"{task} {arm}") for one in found)]
    arms = [arm for arm in dict.fromkeys([*theirs, *own, *run]) if arm != "spt"]  # self-pretraining has no accuracy
    return arms if table.order is None else sorted(arms, key=table.order)


def _arm(id: str, table: AccuracyTable) -> str:
    """The arm that a statement of the paper is about."""
    arm = id.partition(" ")[2]
    for split in table.splits:
        if split and arm.endswith(f" {split}"):
            return arm.removesuffix(f" {split}")
    return arm


def _cell(
    table: AccuracyTable,
    found: Ours,
    paper: Mapping[str, Reported],
    verdicts: tuple[Judgement, ...],
    task: str,
    arm: str,
    split: str,
) -> Cell:
    condition, base = f"{task} {arm}", table.base(arm)
    columns = {moment: f"{moment}_{table.splits[split]}_accuracy" for moment in MOMENTS}
    values = {
        m: _spread(found, run_value(found.name, condition, column, None), column) for m, column in columns.items()
    }
    gains: dict[str, Spread | None] = dict.fromkeys(MOMENTS)
    if base is not None:
        gains = {
            moment: _spread(found, run_gain(found.name, column, None, condition, f"{task} {base}"), column)
            for moment, column in columns.items()
        }
    why = ""
    if values["peak"] is None:
        why = table.theirs[arm] if arm in table.theirs else found.why_no_arm(condition)
        if condition in found.conditions:
            why = f"no finite accuracy: {found.command}"
    id = f"{condition} {split}".strip()
    said = paper.get(id)
    asked = table.judged.get(id, ()) if said is None else said.predictions
    judgements = tuple(one for one in verdicts if one.prediction.id in asked)
    return Cell(task, arm, split, said, values, gains, _stuck(found, condition), why, judgements, found.scale)


def _spread(found: Ours, measure: Measure, column: str) -> Spread | None:
    if column not in found.runs.columns:
        return None
    try:
        values = measure(found.records).values()
    except MissingRecord:
        return None
    return spread(values) if values else None


def _stuck(found: Ours, condition: str) -> int:
    """Runs of a condition that warn that they never left chance."""
    if "warnings" not in found.runs.columns:
        return 0
    rows = found.runs.filter(polars.col("condition") == condition)["warnings"].cast(polars.String).fill_null("")
    return int(rows.str.contains("stuck").sum())

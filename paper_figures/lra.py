"""What tables and figures on the Long-Range Arena share: the best scale that is kept, what was not run, and why.

The paper's scale takes days on a GPU, so records are kept at laptop scale; a picture or table says so, with the sizes
that the record's ``choices.csv`` names, and never calls it a reproduction of the paper's numbers.  What was not run
reads "not run" with its command, and nothing stands in its place.  Checked by
``tests/paper_figures/test_lra_tables.py``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import polars
from matplotlib.axes import Axes

from paper_figures.kept import Kept, KeptRecords
from paper_figures.reported import FOLDER
from paper_figures.sources import Source
from paper_figures.style import FAINT, SMALL
from training.data.catalogue import fetch_command
from training.data.places import DataError
from training.experiments.catalogue import experiments
from training.experiments.experiment import SCALES, Scale
from training.experiments.lra.whole_image import DATASET as WHOLE
from training.predictions.catalogue import predictions
from training.predictions.prediction import Judgement, Records, judge, located
from training.recipes.catalogue import recipe

NOT_RUN = "not run"
CHOICES = "choices.csv"
#: The scale that a reader is told to run.
TO_RUN: Scale = "laptop"
#: The tasks by the names of the records, as they are shown.
TASKS = {
    "listops": "ListOps",
    "image": "Image (CIFAR10)",
    "pathfinder": "PathFinder",
    "retrieval": "Retrieval",
    "text": "Text",
    WHOLE: "Image (1024 tokens)",
}
#: Choices that tell how large a scale is, with the words around their values.
_SIZES = {
    "data": "{}",
    "layers": "layers {}",
    "width": "width {}",
    "spt_epochs": "{} epochs of SPT",
    "label_epochs": "{} of labels",
}


@dataclass(frozen=True)
class Ours:
    """What is at hand of one experiment.

    Attributes:
        name: the experiment.
        scale: the largest that is kept, else the one to run.
        kept: the record; None where there is none.
        records: where predictions are judged.
        runs: its runs table; empty where there is none.
    """

    name: str
    scale: Scale
    kept: Kept | None
    records: Records
    runs: polars.DataFrame

    @property
    def command(self) -> str:
        """What makes the record."""
        return f"python -m training run {self.name} --scale {self.scale}"

    @property
    def keeping(self) -> str:
        """A note on how a record comes here."""
        return f"`{self.command} && python -m training keep {self.name}-{self.scale}` makes and keeps the record."

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that were run, in the record's order."""
        return tuple(self.runs["condition"].unique(maintain_order=True)) if len(self.runs) else ()

    def why_not(self, task: str) -> str:
        """Why the record has no run on a task, and what to type."""
        missing = () if self.kept is None else self.kept.record.content.get("missing", ())
        return why_not(self.name, self.scale, task, missing=task in missing)

    def would_run(self, condition: str) -> bool:
        """Whether the experiment has a condition, at some scale."""
        return any(condition in _conditions(self.name, scale) for scale in SCALES)

    def why_no_arm(self, condition: str) -> str:
        """Why a condition was not run: another of its task was, so the scale may not have it."""
        task = condition.partition(" ")[0]
        if not any(run.partition(" ")[0] == task for run in self.conditions):
            return self.why_not(task)
        for scale in SCALES[1:]:
            if condition in _conditions(self.name, scale):
                at = "" if scale == self.scale else f" (not part of the {self.scale} scale)"
                return f"{NOT_RUN}{at}: `python -m training run {self.name} --scale {scale}`"
        return f"{NOT_RUN}: no experiment has it"


def ours(kept: KeptRecords, name: str) -> Ours:
    """What is at hand of an experiment, which need not exist yet."""
    there = name in {one.name for one in experiments()} and kept.source(name).present
    scale = kept.scale_of(name) if there else kept.scale or TO_RUN
    record = kept.read(name) if there else None
    runs = polars.DataFrame()
    if record is not None and "runs.csv" in record.record.content["files"]:
        runs = record.table("runs.csv", "condition", "learning_rate", "seed")
    return Ours(name, scale, record, Records(kept.folder, scale), runs)


def need(kept: KeptRecords, name: str, figure: str) -> Source:
    """The record where there is one; without it the paper's numbers alone, and cells that read "not run"."""
    found = ours(kept, name)
    if found.kept is not None:
        return kept.source(name)
    return Source(f"the paper's numbers alone (no record of {name})", FOLDER / f"{figure}.json", found.command)


@cache
def _conditions(name: str, scale: Scale) -> frozenset[str]:
    """The conditions of an experiment at a scale; none where there is no such experiment."""
    for one in experiments():
        if one.name == name:
            return frozenset(run.condition for run in one.runs(scale))
    return frozenset()


def why_not(name: str, scale: Scale, task: str, *, missing: bool = False) -> str:
    """Why an experiment has no run on a task, and what to type; ``missing``: the data were, when it was run."""
    command = f"python -m training run {name} --scale {scale}"
    if not missing and data_are_there(task, scale):
        return f"{NOT_RUN}: `{command}`"
    return f"{NOT_RUN}: missing data, `{fetch_command(task)} && {command}`"


def data_are_there(task: str, scale: Scale) -> bool:
    """Whether the data of a task are on this machine, or made by our own generator."""
    try:
        recipe(task, scale).task.find()
    except DataError:
        return False
    return True


def judged(found: Ours, number: int) -> tuple[Judgement, ...]:
    """The predictions about a table of the paper, judged by the record; none where it was not run.

    They name their scale with their sources (``table1@laptop/runs.csv``), and the table of predictions after the
    paper's (``table 1, laptop scale``).
    """
    if found.kept is None:
        return ()
    about = re.compile(rf"table {number}\b")
    asked = tuple(
        one for one in predictions() if about.match(one.table) and found.name in map(experiment_of, one.sources)
    )
    return tuple(judge(asked, found.records))


def experiment_of(source: str) -> str:
    """The experiment of a prediction's source.

    >>> experiment_of("table1@laptop/runs.csv"), experiment_of("table6/runs.csv")
    ('table1', 'table6')
    """
    return located(source, "")[0]


def scale_judged(one: Judgement, otherwise: str) -> str:
    """The scale that a prediction is about."""
    return located(one.prediction.sources[0], otherwise)[1]


def judgements(kept: KeptRecords, ids: Collection[str]) -> dict[str, tuple[Judgement, str]]:
    """Judgements on some predictions, each with its scale; Holm corrects over the whole table of each."""
    asked = [one for one in predictions() if one.id in ids]
    found = {}
    for table in dict.fromkeys(one.table for one in asked):
        whole = tuple(one for one in predictions() if one.table == table)
        scale = kept.scale or kept.scale_of(experiment_of(whole[0].sources[0]))
        for one in judge(whole, Records(kept.folder, scale)):
            if one.prediction.id in ids:
                found[one.prediction.id] = (one, scale_judged(one, scale))
    return found


def scale_note(found: Ours) -> str:
    """How large the scale of a record is, in one sentence."""
    if found.kept is None:
        return f"Nothing of {found.name} was run: the paper's numbers stand alone. {found.keeping}"
    if found.scale == "paper":
        return "Ours: the paper's scale; where its sources disagree the choices below say what was taken."
    small = "shows that it works and decides nothing" if found.scale == "smoke" else "not the paper's scale"
    sizes = "; ".join(_sizes(found)) or "the record names no sizes"
    return f"Ours: {found.scale} scale ({small}; no reproduction of the paper's numbers): {sizes}."


def _sizes(found: Ours) -> Iterator[str]:
    """Sizes of each task, as the record's choices name them."""
    table = choices(found)
    for task in table["dataset"].unique(maintain_order=True) if len(table) else ():
        rows = table.filter(polars.col("dataset") == task)
        values = dict(zip(rows["name"], rows["value"], strict=True))
        said = ", ".join(words.format(values[name]) for name, words in _SIZES.items() if name in values)
        yield f"{TASKS.get(task, task)} {said}"


def choices(found: Ours) -> polars.DataFrame:
    """The choices that a record was made with; empty where it names none."""
    if found.kept is None or CHOICES not in found.kept.record.content["files"]:
        return polars.DataFrame()
    table = found.kept.table(CHOICES, "dataset", "name", "value", "source", "elsewhere")
    return table.select(polars.all().cast(polars.String).fill_null(""))


def sources_of(names: Sequence[tuple[str, str]]) -> tuple[Callable[[KeptRecords], Source], ...]:
    """What a figure drawn from several experiments needs: each as (experiment, file of the paper's numbers)."""

    def one(name: str, figure: str) -> Callable[[KeptRecords], Source]:
        return lambda kept: need(kept, name, figure)

    return tuple(one(*pair) for pair in names)


def say_not_run(axes: Axes, why: str, width: int = 24) -> None:
    """In a panel without anything of ours: why, and what to type."""
    words = "\n".join(textwrap.wrap(why.replace("`", ""), width, break_long_words=False, break_on_hyphens=False))
    axes.text(
        0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", fontsize=SMALL - 0.5, color=FAINT,
        linespacing=1.4,
    )  # fmt: skip
    axes.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)  # panels may share their ticks

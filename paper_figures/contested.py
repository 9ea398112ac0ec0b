"""Claims of the paper that its own numbers, or other work, contest; with what our records say, or "not run".

Each row: what the paper says, which of its printed numbers speak against it, what else could explain them, and ours.
Checked by ``tests/paper_figures/test_errata.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paper_figures import accuracy
from paper_figures.accuracy import Cell, Cells
from paper_figures.accuracy_tables import mean
from paper_figures.kept import KeptRecords
from paper_figures.lra import TASKS, scale_note
from paper_figures.reported import Reported, reported
from paper_figures.spread import Spread
from paper_figures.table01 import TABLE_1
from paper_figures.table02 import TABLE_2
from paper_figures.table03 import TABLE_3
from paper_figures.table04 import TABLE_4
from paper_figures.table05 import POSITIONS, TABLE_5
from paper_figures.table08 import TABLE_8
from training.errors import MissingRecord
from training.predictions.measures import run_gain
from training.predictions.prediction import Measure

#: Tasks and depths of Table 8's last column.
DEEPEST = {"image": 3, "pathfinder": 4}


@dataclass(frozen=True)
class Contested:
    """A claim and what is held against it.

    Attributes:
        claim: the paper's words.
        where: their place.
        against: the paper's own numbers, or other work.
        ours: what our records say.
    """

    claim: str
    where: str
    against: str
    ours: str


class Evidence:
    """Tables read once, the paper's and ours."""

    def __init__(self, kept: KeptRecords) -> None:
        tables = (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_8)
        self.kept = kept
        self.cells: dict[int, Cells] = {table.number: accuracy.read(table, kept) for table in tables}

    def paper(self, number: int, id: str) -> float:
        """An accuracy that the paper prints."""
        return float(reported(f"table{number:02}")[id].value["accuracy"])

    def gain(self, number: int, *ids: str) -> str:
        """Our peak gains in some cells, or why there are none."""
        cells = self.cells[number]
        there = [cell for id in ids for cell in cells.cells if cell.id == id]
        found = [
            f"{_said(cells, cell)} {_spread(cell.gains['peak'])}" for cell in there if cell.gains["peak"] is not None
        ]
        if found:
            return f"{'; '.join(found)} ({cells.found.scale} scale)"
        return there[0].why or cells.found.why_not(there[0].task)

    def difference(self, number: int, value: str, *pairs: tuple[str, str]) -> str:
        """Our accuracies of one condition minus another, within seeds."""
        cells, found = self.cells[number], []
        for one, other in pairs:
            measured = self._measured(cells, run_gain(cells.found.name, value, None, one, other), value)
            if measured is not None:
                found.append(f"{TASKS[one.partition(' ')[0]]} {_spread(measured)}")
        return f"{'; '.join(found)} ({cells.found.scale} scale)" if found else cells.found.why_no_arm(pairs[0][0])

    def _measured(self, cells: Cells, measure: Measure, column: str) -> Spread | None:
        if column not in cells.found.runs.columns:
            return None
        try:
            values = measure(cells.found.records).values()
        except MissingRecord:
            return None
        return accuracy.spread(values) if values else None


def _said(cells: Cells, cell: Cell) -> str:
    split = f" ({cell.split})" if cell.split else ""
    return f"{TASKS[cell.task]}, {cells.table.words(cell.arm)}{split}"


def _spread(found: Spread | None) -> str:
    return "" if found is None else f"{mean(found, signed=True)}, n = {found.seeds}"


def contested(evidence: Evidence) -> tuple[Contested, ...]:
    """Every contested claim."""
    said = reported("statements")
    makers: tuple[Callable[[Evidence, dict[str, Reported]], Contested], ...] = (
        _optimisation, _swap, _compute, _labels_train, _freezing, _query_key, _positions,
    )  # fmt: skip
    return tuple(make(evidence, said) for make in makers)


def records_note(evidence: Evidence) -> tuple[str, ...]:
    """At which scale each record is."""
    return tuple(f"Table {n}. {scale_note(cells.found)}" for n, cells in evidence.cells.items())


def _claim(one: Reported, against: str, ours: str) -> Contested:
    return Contested(f"{one.means}: {one.says}", one.where, against, ours)


def _optimisation(evidence: Evidence, said: dict[str, Reported]) -> Contested:
    gaps = []
    for split in ("train", "val"):
        values = [
            evidence.paper(8, f"image {n}-layer spt-finetune {split}")
            - evidence.paper(8, f"image {n}-layer scratch {split}")
            for n in (1, 2, 3)
        ]
        gaps.append(", ".join(f"{value:+.2f}" for value in values))
    ids = [f"image {n}-layer spt-finetune {split}" for n in (1, 2) for split in ("train", "val")]
    return _claim(
        said["optimisation"],
        f"Table 8, CIFAR10, 1, 2, 3 layers: SPT raises training accuracy by {gaps[0]} and validation accuracy by "
        f"{gaps[1]}: "
        "the gap in fit shrinks with depth while that in validation grows. Zimerman and Wolf (arXiv 2311.16620), "
        "whom the "
        "paper cites, argue that Transformers generalise badly on the LRA for want of the right bias.",
        evidence.gain(8, *ids),
    )


def _swap(evidence: Evidence, said: dict[str, Reported]) -> Contested:
    shares = [
        f"{TASKS[task]} {100 * share(evidence, task, layers, 'train'):.0f} % of the gain in training accuracy, "
        f"{100 * share(evidence, task, layers, 'val'):.0f} % of that in validation accuracy"
        for task, layers in DEEPEST.items()
    ]
    ids = [
        f"{task} 2-layer {kind} {split}"
        for task in DEEPEST
        for kind in ("swapped", "spt-finetune")
        for split in ("train", "val")
    ]
    return Contested(
        "pretraining on the other data set “can also” raise training accuracy, which “hints at optimization problems”",
        said["optimisation"].where,
        f"Table 8, deepest networks: the other set brings {'; '.join(shares)}. What it restores is the fit; what is "
        "lost is "
        "what SPT on the task's own data adds to generalisation.",
        evidence.gain(8, *ids),
    )


def share(evidence: Evidence, task: str, layers: int, split: str) -> float:
    """Share of the paper's gain of self-pretraining that pretraining on the other set has."""
    own, other, scratch = (
        evidence.paper(8, f"{task} {layers}-layer {kind} {split}") for kind in ("spt-finetune", "swapped", "scratch")
    )
    return (other - scratch) / (own - scratch)


def _compute(evidence: Evidence, said: dict[str, Reported]) -> Contested:
    spt, labels = said["epochs-spt"].value, said["epochs-labels"].value
    pairs = [(f"{task} spt-finetune", f"{task} scratch-matched") for task in TABLE_1.tasks]
    return Contested(
        f"SPT for {spt} epochs and labels for {labels} against labels for {labels}",
        said["epochs-spt"].where,
        f"{(spt + labels) // labels} times the updates on one side. No table of the paper has labels alone for as long "
        "(100 epochs may suffice for labels; nothing printed shows it).",
        f"SPT over labels alone for as many updates, peak: {evidence.difference(1, 'peak_test_accuracy', *pairs)}",
    )


def _labels_train(evidence: Evidence, said: dict[str, Reported]) -> Contested:
    frozen, scratch = (evidence.paper(2, f"pathfinder {arm}") for arm in ("attention-frozen", "scratch"))
    return Contested(
        "“label training often fails to organize useful query-key interactions”",
        "section 6",
        f"Table 2, PathFinder: {scratch} with attention trained by labels, {frozen:.2f} (chance, ± 0.00) with it "
        "frozen: there "
        f"labels do train attention, and all of the {scratch - frozen:.3f} above chance needs it.",
        f"frozen minus trained: {evidence.gain(2, 'pathfinder attention-frozen', 'image attention-frozen')}",
    )


def _freezing(evidence: Evidence, said: dict[str, Reported]) -> Contested:
    frozen = evidence.paper(2, "image attention-frozen") - evidence.paper(2, "image scratch")
    parts = evidence.paper(3, "image attention") - evidence.paper(3, "image scratch")
    whole = evidence.paper(3, "image spt-finetune") - evidence.paper(3, "image scratch")
    return _claim(
        said["attention-alone"],
        f"Table 3: SPT weights in attention alone bring {parts:+.3f} of {whole:+.3f} ({100 * parts / whole:.0f} %) "
        "on CIFAR10; "
        f"attention left frozen at random brings {frozen:+.3f} (Table 2).",
        f"attention alone: {evidence.gain(3, 'image attention', 'image spt-finetune')}; "
        f"frozen: {evidence.gain(2, 'image attention-frozen')}",
    )


def _query_key(evidence: Evidence, said: dict[str, Reported]) -> Contested:
    gains = []
    for task in ("image", "pathfinder"):
        part, whole = (
            evidence.paper(4, f"{task} {arm}") - evidence.paper(4, f"{task} scratch") for arm in ("qk", "spt-finetune")
        )
        gains.append(f"{TASKS[task]} {part:+.3f} of {whole:+.3f}")
    norms = evidence.paper(9, "image qk+norms") - evidence.paper(9, "image scratch")
    ids = [
        f"{task} {arm}"
        for task in ("image", "pathfinder")
        for arm in ("qk", "all-but-qk", "spt-finetune", "qk independent")
    ]
    return _claim(
        said["qk-suffice"],
        f"Table 4: {'; '.join(gains)}; but Table 9, CIFAR10: with the norms as well {norms:+.3f}, so what Q and K "
        "carry "
        "depends on what surrounds them. The paper's runs start with W_Q = W_K = W_V = W_O, which it does not say.",
        evidence.gain(4, *ids),
    )


def _positions(evidence: Evidence, said: dict[str, Reported]) -> Contested:
    gains = {
        words: evidence.paper(5, f"pathfinder {name} spt-finetune") - evidence.paper(5, f"pathfinder {name} scratch")
        for name, words in POSITIONS.items()
    }
    small = {words: gain for words, gain in gains.items() if gain < 0.05}
    ids = [f"pathfinder {name} spt-finetune" for name in POSITIONS]
    return _claim(
        said["only-strategy"],
        f"Table 5: with {len(small)} of {len(gains)} encodings SPT adds less than .05 on PathFinder "
        f"({', '.join(f'{words} {gain:+.3f}' for words, gain in small.items())}); what unlocks it is SPT with "
        "sinusoidal "
        "positions or RoPE + ALiBi.",
        evidence.gain(5, *ids),
    )

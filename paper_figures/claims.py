"""The README's table of the paper's claims, item by item, made from records: what the paper says, what we found.

Theory's rows state the command that verifies them and read no report.  A number comes from a kept record, with its
interval, seeds and scale; what has none reads "not run" with its command.  Checked by
``tests/paper_figures/test_claims.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from paper_figures import accuracy, weights
from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import mean
from paper_figures.errata_arithmetic import accuracy_of
from paper_figures.kept import KeptRecords
from paper_figures.lra import NOT_RUN, TASKS, judgements
from paper_figures.reported import reported
from paper_figures.spread import Spread
from paper_figures.style import plain
from theory.catalogue import find_claim
from theory.claim import QUANTITY_TEXT
from theory.printing import text
from training.data.catalogue import fetch_command
from training.predictions.prediction import Judgement

VERIFY = "make verify-theory"
#: The tasks, short.
SHORT = {**TASKS, "image": "Image"}
_HEAD = ("paper", "the paper says", "ours: effect ± 95 %", "n, scale", "verdict")


@dataclass(frozen=True)
class Line:
    """One finding about an item: what it is called, its effect, seeds and scale, and a verdict (or why none)."""

    label: str
    effect: str
    seeds: str
    verdict: str


@dataclass(frozen=True)
class Item:
    """A proposition, table or figure of the paper.

    Attributes:
        name: the paper's.
        says: what the paper says, short.
        lines: what we found.
    """

    name: str
    says: Callable[[], str]
    lines: Callable[[KeptRecords], Sequence[Line]]


def markdown(items: Sequence[Item], kept: KeptRecords) -> str:
    """The whole table.

    A row with several findings has them one below the other, in one order in each column.
    """
    rows = [_HEAD, *[("---",) * len(_HEAD)]]
    for item in items:
        lines = item.lines(kept)
        effects = [_effect(line, alone=not any(one.effect for one in lines)) for line in lines]
        seeds = _joined([line.seeds for line in lines])
        rows.append((item.name, item.says(), _joined(effects), seeds, _joined([line.verdict for line in lines])))
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"


def _effect(line: Line, *, alone: bool) -> str:
    """An effect with its label; a dash where nothing of the item was run."""
    if line.effect:
        return f"{line.label}: {line.effect}" if line.label else line.effect
    return "–" if alone else line.label


def _joined(cells: Sequence[str]) -> str:
    """One cell where all lines say the same."""
    return cells[0] if len(set(cells)) == 1 else "<br>".join(cells)


def theory_item(identifier: str, what: str) -> Item:
    """A claim of the theory; its verdict is the command's to give."""
    return Item(
        what,
        lambda: _statement(identifier),
        lambda kept: [Line("", f"derived for every L and d (claim {identifier})", "–", f"verified by `{VERIFY}`")],
    )


def _statement(identifier: str) -> str:
    """The equations of a claim, printed from its expressions."""
    parts = find_claim(identifier).parts
    return ", ".join(f"`{QUANTITY_TEXT[part.quantity]} = {text(part.statement)}`" for part in parts)


def predicted_item(name: str, says: Callable[[], str], labels: Mapping[str, str]) -> Item:
    """An item judged by predictions, by id with their labels."""
    return Item(name, says, lambda kept: _judged(kept, labels))


def _judged(kept: KeptRecords, labels: Mapping[str, str]) -> list[Line]:
    found = judgements(kept, list(labels))
    return [_line(label, *found[id]) for id, label in labels.items() if id in found]


def _line(label: str, one: Judgement, scale: str) -> Line:
    if one.effect is None or one.low is None or one.high is None:
        names = dict.fromkeys(source.partition("/")[0].partition("@")[0] for source in one.prediction.sources)
        commands = " && ".join(f"python -m training run {name} --scale {scale}" for name in names)
        return Line(label, "", "–", f"{NOT_RUN}: `{commands}`")
    word = f"{one.verdict} (suggestive)" if one.suggestive else one.verdict
    half = f" ± {(one.high - one.low) / 2:.3f}" if one.seeds > 1 else ""
    return Line(label, f"{plain(one.effect, '+.3f')}{half}", f"{one.seeds}, {scale}", word)


def _cells(kept: KeptRecords, table: AccuracyTable, ids: Mapping[str, str]) -> list[Line]:
    """Gains of some cells, peak, judged where a prediction is about the cell."""
    cells = accuracy.read(table, kept)
    lines = []
    for id, label in ids.items():
        cell = next((cell for cell in cells.cells if cell.id == id), None)
        if cell is None:
            continue
        gain = cell.gains["peak"]
        if gain is None:
            lines.append(Line(label, "", "–", _on_any_machine(cell.why, cell.task)))
            continue
        verdict = ", ".join(dict.fromkeys(one.verdict for one in cell.verdicts)) or "not judged"
        lines.append(Line(label, mean(gain, signed=True), f"{gain.seeds}, {cell.scale}", verdict))
    return _grouped(lines)


def _on_any_machine(why: str, task: str) -> str:
    """Why something was not run, the same whether its data are on this machine or not: the README is one for all.

    A set that is made here at laptop scale, or is small, is taken to be there; Retrieval never is.
    """
    plain_why = re.sub(r"missing data, `python -m training data fetch .*? && ", "`", why)
    return plain_why.replace("`", f"missing data, `{fetch_command(task)} && ", 1) if task == "retrieval" else plain_why


def _grouped(lines: Sequence[Line]) -> list[Line]:
    """Lines that were not run for one reason stand together."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.verdict if not line.effect else line.label, []).append(line)
    return [
        group[0]
        if len(group) == 1
        else Line("; ".join(one.label for one in group), "", group[0].seeds, group[0].verdict)
        for group in found.values()
    ]


def accuracy_item(table: AccuracyTable, what: str, ids: Mapping[str, str]) -> Item:
    """An accuracy table: gains of some cells, by their identifiers with their labels."""
    return Item(f"Table {table.number}", lambda: f"{what}: {_gains(table, ids)}", lambda kept: _cells(kept, table, ids))


def _gains(table: AccuracyTable, ids: Mapping[str, str]) -> str:
    """The paper's gains: as printed, else the difference of what is printed."""
    said = reported(table.figure)
    parts = []
    for id, label in ids.items():
        if id not in said:
            continue
        task, _, arm = id.partition(" ")
        split = next((name for name in table.splits if name and arm.endswith(f" {name}")), "")
        base = table.base(arm.removesuffix(f" {split}") if split else arm)
        gain = None
        if base is not None:
            gain = accuracy_of(said[id]).value - accuracy_of(said[f"{task} {base} {split}".strip()]).value
        printed = re.search(r"\(([+-][\d.]+)\)", said[id].says)
        shown = printed[1] if printed else said[id].says if gain is None else f"{gain:+}"
        parts.append(f"{label} {shown.replace('-', '−')}")
    return ", ".join(parts)


def weights_item(task: str) -> Item:
    """A table of displacements: how much less labels move the first layer than self-pretraining does."""
    components = {"query": "Q", "key": "K", "mlp": "MLP"}
    number = weights.TABLES[task]

    def says() -> str:
        rows = weights.paper_rows(reported(f"table{number}"))
        ratios = ", ".join(
            f"{words} {rows['0', name]['R>SC'] / rows['0', name]['R>SPT']:.2f}" for name, words in components.items()
        )
        return f"labels move weights less than SPT does, {SHORT[task]}, layer 0, ratio: {ratios}"

    def lines(kept: KeptRecords) -> list[Line]:
        found, rows = weights.read(task, kept)
        ratios = {row.component: row.ratio for row in rows if row.layer == "0"}
        why = _on_any_machine(found.why_not(task), task)
        return _grouped([_ratio(words, ratios.get(name), found.scale, why) for name, words in components.items()])

    return Item(f"Table {number}", says, lines)


def _ratio(label: str, found: Spread | None, scale: str, why: str) -> Line:
    if found is None:
        return Line(label, "", "–", why)
    side = "labels move more" if found.low > 1 else "labels move less" if found.high < 1 else "not told apart"
    return Line(label, mean(found), f"{found.seeds}, {scale}", f"not judged ({side})")


def words_of(figure: str, *ids: str) -> Callable[[], str]:
    """The paper's words about a figure."""
    return lambda: "; ".join(f"{reported(figure)[id].means}: {reported(figure)[id].says}" for id in ids)


def fixed_item(name: str, says: str, found: str, verdict: str) -> Item:
    """An item without a number of its own."""
    return Item(name, lambda: says, lambda kept: [Line("", found, "–", verdict)])

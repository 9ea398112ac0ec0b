"""Verdicts as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from training.predictions.prediction import Judgement, Records
from training.predictions.verdicts import search_table

_STYLE = {"confirmed": "green", "contradicted": "red", "inconclusive": "yellow", "not run": "dim"}


def show(console: Console, judgements: Sequence[Judgement], records: Records) -> None:
    """Print every table, the search, and the commands that make missing records."""
    for name in dict.fromkeys(one.prediction.table for one in judgements):
        show_table(console, name, [one for one in judgements if one.prediction.table == name])
    console.print(
        "An effect is a mean over n seeds; p is exact (sign flips), Holm's correction runs over a table; mde: the "
        "distance from the bound found with power .8; suggestive: inconclusive, though the interval agrees."
    )
    show_search(console, records)
    reasons = [one.reason for one in judgements if one.verdict == "not run"]
    missing = dict.fromkeys(reason for reason in reasons if reason.startswith("no record"))
    for reason in missing:
        console.print(Text(reason), soft_wrap=True)
    other = [reason for reason in reasons if reason not in missing]
    if other:
        console.print(f"{len(other)} predictions measure what these records do not hold, such as: {other[0]}")


def show_table(console: Console, name: str, judgements: Sequence[Judgement]) -> None:
    """Print the judgements of one table."""
    table = Table(
        box=box.SIMPLE_HEAD, title=f"table: {name}", title_justify="left", pad_edge=False, padding=(0, 1, 0, 0)
    )
    for column in ("prediction", "bound", "effect [95 %]", "p (Holm)", "n", "mde", "verdict"):
        table.add_column(column, no_wrap=column != "prediction", overflow="fold")
    for one in judgements:
        cells = ["–"] * 4
        if one.effect is not None and one.p_value is not None:
            cells = [
                f"{one.effect:.2f} [{one.low:.2f}, {one.high:.2f}]",
                f"{one.p_value:.3f} ({one.p_holm:.3f})",
                str(one.seeds),
                f"{one.minimum_detectable_effect:.2f}",
            ]
        word = "suggestive" if one.suggestive else one.verdict
        bound = one.prediction.bound.removeprefix("mean over seeds ").removeprefix("within ")
        table.add_row(Text(one.prediction.id), bound, *cells, Text(word, _STYLE[one.verdict]))
    console.print(table)


def show_search(console: Console, records: Records) -> None:
    """Print what the search saw, if it was run."""
    rows = search_table(records)
    if not rows:
        return
    table = Table("free choice", "claim", "mean [95 % interval]", "seeds", box=box.SIMPLE_HEAD, pad_edge=False)
    table.title, table.title_justify = "search: positive where a claim holds; decides nothing", "left"
    for variant, claim, mean, low, high, seeds in rows:
        table.add_row(variant, claim, f"{mean:.3f} [{low:.2f}, {high:.2f}]", str(seeds))
    console.print(table)

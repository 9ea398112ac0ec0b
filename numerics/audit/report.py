"""The audit in the terminal: a table of numbers with intervals, the verdict, what would change it."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from numerics.audit.labels import SHIFT

#: What each number is, in the order of the table.
WORDS = {
    "blind_energy_fraction": "blind energy of the pattern",
    "visible_dimension": "directions that labels see",
    "directions": "  of all directions",
    "pooled_response": "pooled response h′(0)",
    "blind_range": f"|α| until h moves {SHIFT:.0%}",
    "spt_loss_at_uniform_attention": "L_SPT at uniform attention",
    "spt_slope": "slope of L_SPT, unmasked",
    "spt_slope_autograd": "  by autograd",
    "spt_slope_diagonal": "  full mask, self left out",
    "spt_slope_masked": "slope of L_SPT, tokens masked",
    "order_slope": "  part that rests on order",
    "order_strength": "  its strength (1: the most)",
    "spt_slope_signal_to_noise": "signal to noise, unmasked",
    "spt_slope_diagonal_signal_to_noise": "  full mask, self left out",
    "spt_slope_masked_signal_to_noise": "  tokens masked",
    "order_slope_signal_to_noise": "  part that rests on order",
    "off_diagonal_energy": "energy of JCJ off diagonal",
    "predicted_cosine": "Q3, masked to unmasked: cosine",
    "predicted_size_ratio": "  size",
}


def number(value: float | None) -> str:
    """Four significant digits, whole numbers in full.

    >>> number(0.111083984), number(1047552.0), number(None)
    ('0.1111', '1047552', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e12 else f"{value:.4g}"


def render(results: dict[str, Any]) -> RenderableType:
    """The whole report for a terminal of 100 columns."""
    data, options = results["data"], results["options"]
    many = f"{data['sequences']} sequence{'s' * (data['sequences'] != 1)}"
    head = Text.assemble(
        (f"{data['name']}", "bold"),
        f": {many} of length {data['length']}, width {data['width']} ({data['embedding']})\n"
        f"pattern {options['pattern']}, mask {options['mask']}, pooling {options['pooling']}, "
        f"masking ratio {options['mask_ratio']:g}, positions {options['positions']}",
    )
    verdict = results["verdict"]
    word = Text.assemble(("verdict  ", "bold"), verdict["outcome"].replace("_", " "))
    lines = [Text(), word, Text(verdict["sentence"])]
    lines += [Text(f"note: {note}") for note in results["notes"]]
    if verdict["would_change"]:
        lines += [Text("what would change it", style="bold"), *(Text(f"- {line}") for line in verdict["would_change"])]
    tables = (_numbers(results["numbers"]), _ratios(results["masking_ratios"]), _poolings(results["poolings"]))
    return Group(head, *tables, *lines)


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for n, heading in enumerate(headings):
        table.add_column(heading, justify="left" if n == 0 else "right", no_wrap=n > 0)
    return table


def _interval(estimate: dict[str, Any]) -> str:
    if estimate["low"] is None or estimate["high"] is None:
        return "none"
    return (
        "exact" if estimate["low"] == estimate["high"] else f"{number(estimate['low'])} to {number(estimate['high'])}"
    )


def _numbers(numbers: dict[str, Any]) -> Table:
    table = _table("quantity", "value", "95 % interval")
    table.add_column("note")
    for name, words in WORDS.items():
        if name in numbers:
            held = numbers[name]
            table.add_row(words, number(held["value"]), _interval(held), held.get("note", ""))
    return table


def _ratios(ratios: list[dict[str, Any]]) -> Table:
    table = _table(
        "masking ratio", "slope, tokens masked", "part that rests on order", "95 % interval", "signal to noise"
    )
    for held in ratios:
        order, noise = held["order_slope"], held["order_slope_signal_to_noise"]["value"]
        table.add_row(
            f"{held['mask_ratio']:g}",
            number(held["spt_slope_masked"]["value"]),
            number(order["value"]),
            _interval(order),
            number(noise),
        )
    return table


def _poolings(poolings: list[dict[str, Any]]) -> Table:
    table = _table("pooling", "seen of the pattern in the rows read", "directions seen", "of")
    for held in poolings:
        share = held["seen_share_of_rows_read"]
        table.add_row(held["pooling"], number(share), str(held["visible_dimension"]), str(held["directions"]))
    return table

"""How far weights move and how large they become (Tables 10 and 11, Figure 9): the paper's numbers and ours.

The paper numbers half-layers (even: attention, odd: MLP) and prints a norm layer for each; our records have one row of
norms a layer, so the paper's two are joined as the root of the sum of squares.  Frobenius norms grow with width, so
between scales only ratios compare.  Checked by ``tests/paper_figures/test_lra_tables.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import polars

from paper_figures.kept import KeptRecords
from paper_figures.lra import Ours, ours
from paper_figures.reported import Reported, reported
from paper_figures.spread import Spread, by_seed, spread

FILE = "weights.csv"
PAIRS = ("R>SPT", "R>SC", "SPT>FT", "SC>FT", "R>FT")
STAGES = ("R", "SPT", "SC", "FT")
#: Where a stage's norm stands in the record: a pair and which of its ends.
_NORMS = {
    "R": ("R>SC", "norm_start"),
    "SPT": ("R>SPT", "norm_end"),
    "SC": ("R>SC", "norm_end"),
    "FT": ("R>FT", "norm_end"),
}
#: Components with the words that are shown, in the order of the rows.
COMPONENTS = {
    "encoder": "encoder",
    "query": "attention Q",
    "key": "attention K",
    "value": "attention V",
    "output": "attention O",
    "mlp-up": "MLP up",
    "mlp-down": "MLP down",
    "mlp": "MLP, both",
    "norms": "norms, both",
}
ATTENTION = ("query", "key", "value", "output")
#: Rows of the paper that our records join.
JOINED = ("mlp-up", "mlp-down")
#: Task and number of each table.
TABLES = {"image": 10, "pathfinder": 11}


@dataclass(frozen=True)
class Row:
    """One component of one layer (no layer: before the first or after the last).

    Attributes:
        layer: number as text; empty for the encoder.
        component: as in our records.
        paper: displacements by pair and norms by ``norm STAGE``; None where the paper has no such row.
        ours: the same, over seeds; a value that was not measured is left out.
        ratio: R→SC over R→SPT within seeds.
    """

    layer: str
    component: str
    paper: Mapping[str, float] | None
    ours: Mapping[str, Spread]
    ratio: Spread | None

    @property
    def paper_ratio(self) -> float | None:
        """R→SC over R→SPT, as the paper prints them."""
        return None if self.paper is None else self.paper["R>SC"] / self.paper["R>SPT"]


def read(task: str, kept: KeptRecords) -> tuple[Ours, tuple[Row, ...]]:
    """The rows of a task's table."""
    number = TABLES[task]
    paper, found = paper_rows(reported(f"table{number}")), ours(kept, f"table{number}")
    measured = table_of(found)
    there = [(str(layer), str(component)) for layer, component in measured.select("layer", "component").iter_rows()]
    names = sorted({*paper, *there}, key=_place)
    return found, tuple(_row(layer, component, paper.get((layer, component)), measured) for layer, component in names)


def _place(name: tuple[str, str]) -> tuple[int, int, str]:
    layer, component = name
    listed = list(COMPONENTS)
    known = listed.index(component) if component in listed else len(listed)
    first = -1 if component == "encoder" else math.inf if layer == "" else int(layer)
    return (int(min(first, 10**6)), known, component)


def paper_rows(said: Mapping[str, Reported]) -> dict[tuple[str, str], dict[str, float]]:
    """The paper's rows by our layer and component, its two norms of a layer joined."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    norms: dict[str, list[Mapping[str, float]]] = {}
    for id, statement in said.items():
        half, _, component = id.rpartition(" ")
        layer = str(int(half) // 2) if half else ""
        if component == "norm":
            norms.setdefault(layer, []).append(statement.value)
        else:
            found[layer, component] = dict(statement.value)
    for layer, both in norms.items():
        found[layer, "norms"] = {name: math.hypot(*(one[name] for one in both)) for name in both[0]}
    return found


def table_of(found: Ours) -> polars.DataFrame:
    """The measured rows, layers as text; empty where there is no record."""
    columns = ("pair", "seed", "layer", "component", "displacement", "norm_start", "norm_end")
    if found.kept is None or FILE not in found.kept.record.content["files"]:  # its data were missing
        return polars.DataFrame(schema=dict.fromkeys(columns, polars.String))
    table = found.kept.table(FILE, *columns).select(columns)
    return table.with_columns(polars.col("layer").cast(polars.String).fill_null(""))


def _row(layer: str, component: str, paper: Mapping[str, float] | None, measured: polars.DataFrame) -> Row:
    rows = measured.filter((polars.col("layer") == layer) & (polars.col("component") == component))
    moved = {pair: _values(rows, pair, "displacement") for pair in PAIRS}
    norms = {f"norm {stage}": _values(rows, *_NORMS[stage]) for stage in STAGES}
    found = {name: spread(values.values()) for name, values in {**moved, **norms}.items() if values}
    top, bottom = moved["R>SC"], moved["R>SPT"]
    ratios = [top[seed] / bottom[seed] for seed in top if bottom.get(seed)]
    return Row(layer, component, paper, found, spread(ratios) if ratios else None)


def _values(rows: polars.DataFrame, pair: str, column: str) -> dict[int, float]:
    return by_seed(rows.filter(polars.col("pair") == pair), column)


def norm_change(row: Row) -> tuple[float | None, Spread | None]:
    """‖SC‖ − ‖R‖: the paper's and ours (of means; the interval is that of the norm after training)."""
    said = None if row.paper is None else row.paper["norm SC"] - row.paper["norm R"]
    start, end = row.ours.get("norm R"), row.ours.get("norm SC")
    if start is None or end is None:
        return said, None
    shift = start.mean
    return said, Spread(
        end.mean - shift, end.least - shift, end.greatest - shift, end.low - shift, end.high - shift, end.seeds
    )

"""Figure 12: the law of the entries of W_Q, W_K and their product, before and after self-pretraining.

Checked by ``tests/paper_figures/test_attention.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars
from matplotlib.axes import Axes

from paper_figures.beside import Comparison, finish, sheet
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import Kept, KeptRecords, experiment
from paper_figures.reported import reported
from paper_figures.spread import Spread, by_seed, paired
from paper_figures.style import GREEN, INK, plain

TITLE = "Entries of the query and key weights and of their product, before and after self-pretraining"
PLACE = "arXiv 2605.21070, Figure 12"
MATRICES = {"query": "$W_Q$", "key": "$W_K$", "product": r"$W_Q^\top W_K$"}
STATES = {"initial": ("random initialisation", INK, True), "spt": ("after SPT", GREEN, False)}


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of toy-fig6 and draw."""
    record, paper = kept.read("toy-fig6"), reported("fig12")
    bins = record.table("histograms.csv", "state", "matrix", "low", "high", "count")
    moments = record.table("moments.csv", "state", "matrix", "seed", "deviation", "excess_kurtosis")
    factors = {name: _factor(record, moments, name) for name in MATRICES}
    seeds = factors["query"].seeds
    body = sheet(3.7, TITLE, record, seeds)
    for axes, name in zip(body.subplots(1, 3, sharey=True), MATRICES, strict=True):
        _panel(axes, bins.filter(polars.col("matrix") == name), name, factors[name])
    body.axes[0].set_ylabel("share of entries in a bin")
    body.legend(*body.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    comparisons = [_compared(paper[name], moments, name, factors[name]) for name in MATRICES]
    factor = record.setting("initial.scale")
    note = f"Initial weights here are PyTorch's times {factor:g}; the paper does not say how it draws its own."
    numbers: dict[str, Any] = {
        "seeds": seeds,
        "bins": bins.to_dicts(),
        "moments": moments.to_dicts(),
        "deviation_factors": {name: one.record() for name, one in factors.items()},
    }
    return finish(body, FIGURE.name, PLACE, record, comparisons, numbers, [note])


def _factor(record: Kept, moments: polars.DataFrame, matrix: str) -> Spread:
    """Standard deviation of the entries after over before: geometric mean over seeds, its interval and extremes."""
    rows = moments.filter(polars.col("matrix") == matrix)
    logs = [
        {seed: math.log(value) for seed, value in by_seed(rows.filter(polars.col("state") == s), "deviation").items()}
        for s in ("spt", "initial")
    ]
    found = paired(*logs)
    if found is None:
        raise record.unreadable("moments.csv", f"it has no seed with {matrix} before and after")
    ends = np.exp([found.mean, found.least, found.greatest, found.low, found.high])  # infinite for a single seed
    mean, least, greatest, low, high = (float(end) for end in ends)
    return Spread(mean, least, greatest, low, high, found.seeds)


def _panel(axes: Axes, bins: polars.DataFrame, name: str, factor: Spread) -> None:
    for state, (words, colour, filled) in STATES.items():
        rows = bins.filter(polars.col("state") == state).sort("low")
        edges = [*rows["low"].to_list(), rows["high"][-1]]
        share = rows["count"].to_numpy() / max(rows["count"].sum(), 1)
        axes.stairs(share, edges, color=colour, fill=filled, alpha=0.35 if filled else 1.0, label=words, linewidth=1.3)
    axes.set_yscale("log")
    axes.set_title(f"{MATRICES[name]}: deviation × {factor.mean:.3g}")
    axes.set_xlabel("entry")


def _compared(statement: Any, moments: polars.DataFrame, name: str, factor: Spread) -> Comparison:
    means = {
        (state, value): float(rows[value].mean() or 0.0)  # type: ignore[arg-type]
        for state in STATES
        for value in ("deviation", "excess_kurtosis")
        for rows in [moments.filter((polars.col("matrix") == name) & (polars.col("state") == state))]
    }
    interval = f", 95 % interval {factor.low:.4g}–{factor.high:.4g}" if factor.seeds > 1 else ""
    kurtosis = [plain(means[state, "excess_kurtosis"], ".2g") for state in STATES]
    ours = (
        f"standard deviation × {factor.mean:.3g}{interval} ({means['initial', 'deviation']:.3g} to "
        f"{means['spt', 'deviation']:.3g}, {factor.seeds} seeds), excess kurtosis "
        f"{kurtosis[0]} to {kurtosis[1]}"
    )
    return Comparison(statement, ours, {"deviation factor": factor})


FIGURE = PaperFigure("fig12", TITLE, PLACE, (experiment("toy-fig6"),), draw)

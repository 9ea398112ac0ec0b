"""Figure 6: positions alone through the attention block, with random weights (top) and after self-pretraining (bottom).

The input's content is zero, so the scores are ``P W_Q^T W_K P^T / sqrt(width)``.  Each matrix has a colour scale of its
own, written above it, for the weights differ in size by orders.  Checked by ``tests/paper_figures/test_attention.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.typing import HashableList

from paper_figures.beside import Comparison, finish, sheet
from paper_figures.fig05 import SCALE, attention_measures
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords, experiment
from paper_figures.panels import matrix, rounded, signed_limit
from paper_figures.reported import reported
from paper_figures.spread import Spread
from paper_figures.style import SMALL
from training.probes.network import NEAR
from training.probes.patterns import uniform_distance, uniform_mass

TITLE = "Positions alone through the attention block, before and after self-pretraining"
PLACE = "arXiv 2605.21070, Figure 6"
STATES = {"initial": "random initialisation", "spt": "after SPT"}
#: Components from left to right, with their names and axes.
COMPONENTS: Mapping[str, tuple[str, str, str]] = {
    "query": (r"$W_Q$", "head unit", "input unit"),
    "key": (r"$W_K$", "head unit", "input unit"),
    "product": (r"$W_Q^\top W_K$", "query side", "key side"),
    "scores": (r"scores $PW_Q^\top W_KP^\top\!/\sqrt{d}$", "query", "key"),
    "attention": (r"attention × $L$", "query", "key"),
}


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of toy-fig6 and draw."""
    record, paper = kept.read("toy-fig6"), reported("fig06")
    names = [f"{state}-{component}" for state in STATES for component in COMPONENTS]
    found = record.arrays("components.npz", "positions", *names, *(f"{s}-attention-mean" for s in STATES))
    arrays = {name: values.astype(np.float64) for name, values in found.items()}
    measures = attention_measures(record, tuple(STATES))
    seeds, tokens = measures["spt"]["mass_near"].seeds, len(arrays["positions"])
    body = sheet(5.0, TITLE, record, seeds)
    places: list[HashableList[str]] = [["positions", *(f"{state}-{name}" for name in COMPONENTS)] for state in STATES]
    panels = body.subplot_mosaic(places, width_ratios=(0.5, 1, 1, 1, 1.25, 1.25))
    matrix(panels["positions"], arrays["positions"], cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    panels["positions"].set_title("positions $P$\n±1", fontsize=SMALL)
    panels["positions"].set(xlabel="unit", ylabel="position")
    for state, words in STATES.items():
        for name in COMPONENTS:
            _component(panels[f"{state}-{name}"], arrays[f"{state}-{name}"], name, labeled=state == "spt")
        first = panels[f"{state}-query"]
        first.set_ylabel(f"{words}\n{first.get_ylabel()}", labelpad=1)
    comparisons = [
        Comparison(paper[id], _near(measures[state], tokens), dict(measures[state]))
        for id, state in (("random", "initial"), ("pattern", "spt"))
    ]
    limits = {name: signed_limit(arrays[name]) for name in names}
    notes = [
        "Matrices of seed 0; each has its own colour scale around 0 (± the number above it), attention a common one "
        f"from {SCALE[0]:g} to {SCALE[1]:g} (logarithmic, 1: uniform)."
    ]
    numbers: dict[str, Any] = {
        "seeds": seeds,
        "limits": limits,
        "measures": {s: {m: one.record() for m, one in of.items()} for s, of in measures.items()},
        "components": {name: rounded(values, 4) for name, values in arrays.items()},
    }
    return finish(body, FIGURE.name, PLACE, record, comparisons, numbers, notes)


def _component(axes: Axes, values: Float[np.ndarray, "rows columns"], name: str, labeled: bool) -> None:
    words, down, across = COMPONENTS[name]
    if name == "attention":
        tokens = len(values)
        matrix(axes, np.clip(values * tokens, SCALE[0], None), cmap="cividis", norm=LogNorm(*SCALE))
        says = f"{words}\n{values.min() * tokens:.2g} to {values.max() * tokens:.2g}"
    else:
        limit = signed_limit(values)
        matrix(axes, values, cmap="PuOr", vmin=-limit, vmax=limit)
        says = f"{words}\n±{limit:.2g}"
    axes.set_title(says, fontsize=SMALL)
    axes.set_xlabel(across if labeled else "")
    axes.set_ylabel(down, labelpad=1)


def _near(found: Mapping[str, Spread], tokens: int) -> str:
    return (
        f"mass within ±{NEAR} of the query {found['mass_near'].text()} (uniform {uniform_mass(tokens, NEAR):.3f}), "
        f"mean distance {found['mean_distance'].text(1)} (uniform {uniform_distance(tokens):.1f}); 95 % intervals"
    )


FIGURE = PaperFigure("fig06", TITLE, PLACE, (experiment("toy-fig6"),), draw)

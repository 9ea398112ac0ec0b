"""The picture of a model report: energy split of every layer, and score gradients as heat maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from numerics.model_audit.report import ModelReport

#: Okabe and Ito's palette (2008): stripes that labels see, the blind set, text.
STRIPES, BLIND, INK, FAINT = "#0072B2", "#D55E00", "#222222", "#8a8a8a"

_STYLE: Mapping[Any, Any] = {
    "font.size": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": FAINT,
    "text.color": INK,
    "legend.frameon": False,
    "savefig.dpi": 200,
}

#: Layers drawn as heat maps; more would be too small to read.
MOST_MAPS = 6

#: Diverging, neutral at zero.
COLOURS = "RdBu_r"


def draw_report(report: ModelReport) -> Figure:
    """Bars above, heat maps below; colours of a heat map are symmetric around zero.

    Args:
        report: any report; zero gradients are left blank and say so.
    """
    layers = list(dict.fromkeys(head.layer for head in report.heads))
    maps = list(report.maps)[:MOST_MAPS]
    rows = 3 if any(m.reconstruction_blind is not None for m in maps) else 2
    height = 1.2 + 0.34 * len(layers)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # all but the backend: a user's own settings do not change the report
        matplotlib.rcParams.update(_STYLE)
        picture = Figure(figsize=(7.0, height + 1.55 * rows * bool(maps)), layout="constrained")
        if not maps:
            _bars(picture.subplots(), report, layers)
            return picture
        above, below = picture.subfigures(2, 1, squeeze=False, height_ratios=(height, 1.55 * rows)).flat
        _bars(above.subplots(), report, layers)
        grid = below.subplots(rows, max(len(maps), 3), squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for column, drawn in enumerate(maps):
            whole = drawn.label_blind + drawn.label_stripes
            reach = float(np.abs(whole).max())
            grid[0, column].set_title(f"{drawn.layer}\nhead {drawn.head}", fontsize=7)
            _map(grid[0, column], whole, reach, "label gradient" if column == 0 else "")
            _map(grid[1, column], drawn.label_blind, reach, "its blind part" if column == 0 else "")
            if drawn.reconstruction_blind is not None and drawn.reconstruction_stripes is not None:
                rebuilt = drawn.reconstruction_blind + drawn.reconstruction_stripes
                title = "reconstruction" if column == 0 else ""
                _map(grid[2, column], rebuilt, float(np.abs(rebuilt).max()), title)
    return picture


def _bars(axes: Axes, report: ModelReport, layers: list[str]) -> None:
    axes.set_title(f"{report.model}: {report.verdict}", loc="left", fontweight="bold")
    for place, layer in enumerate(layers):
        for offset, (name, shares) in zip((-0.2, 0.2), report.layer_shares(layer).items(), strict=False):
            height = place + offset
            if shares is None:
                axes.text(0.005, height, f"{name} gradient is zero", va="center", fontsize=7, color=FAINT)
                continue
            axes.barh(height, shares[1], 0.34, color=STRIPES)
            axes.barh(height, shares[0], 0.34, left=shares[1], color=BLIND)
            axes.text(1.01, height, name, va="center", fontsize=7)
    axes.set(xlim=(0, 1), ylim=(len(layers) - 0.5, -0.5), xlabel="share of the score gradient's energy")
    axes.set_yticks(range(len(layers)), layers)
    handles = [Patch(color=STRIPES, label="stripes: what mean-pooled labels can write")]
    handles.append(Patch(color=BLIND, label="blind set"))
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize=7, borderaxespad=0)


def _map(axes: Axes, values: np.ndarray, reach: float, title: str) -> None:
    reach = reach or 1.0
    axes.set_axis_on()
    axes.spines[:].set_visible(False)
    axes.imshow(values, cmap=COLOURS, vmin=-reach, vmax=reach, interpolation="nearest")
    axes.set(xticks=[], yticks=[], ylabel=title)

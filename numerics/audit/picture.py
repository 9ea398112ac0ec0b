"""The audit as a picture: slopes with intervals, and three profiles by distance.

Only what the JSON holds is drawn, so that the picture never says more than the numbers.
"""

from __future__ import annotations

import io
import textwrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

#: Okabe and Ito's palette (2008), distinguishable under the common colour-vision deficiencies.
_BLUE, _VERMILLION, _GREEN, _INK, _FAINT = "#0072B2", "#D55E00", "#009E73", "#222222", "#8a8a8a"

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _FAINT,
    "axes.linewidth": 0.6,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 4),
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "figure.constrained_layout.use": True,
}


def draw(results: dict[str, Any]) -> bytes:
    """The picture as PNG."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(7.4, 5.9), dpi=150)
        canvas = FigureCanvasAgg(figure)
        grid = figure.subplots(2, 2)
        _slopes(grid[0, 0], results)
        _profiles(grid[0, 1], results, ("pattern", "descent"))
        _profiles(grid[1, 0], results, ("predicted", "predicted_masked"))
        _ratios(grid[1, 1], results)
        data, options = results["data"], results["options"]
        figure.suptitle(
            f"{data['name']}: {data['sequences']} sequences of length {data['length']}; pattern {options['pattern']}, "
            f"mask {options['mask']}, pooling {options['pooling']}\n"
            + textwrap.fill(" ".join([results["verdict"]["sentence"], *map(_note, results["notes"])]), 108),
            fontsize=8.5, x=0.01, ha="left",
        )  # fmt: skip
        written = io.BytesIO()
        canvas.print_png(written, metadata={"Software": None})
    return written.getvalue()


def _note(text: str) -> str:
    return f"Note: {text}."


_SLOPES = {
    "spt_slope": "unmasked",
    "spt_slope_autograd": "by automatic\ndifferentiation",
    "spt_slope_diagonal": "full mask,\nself left out",
    "spt_slope_masked": "tokens masked",
    "order_slope": "part that\nrests on order",
}


def _slopes(axes: Axes, results: dict[str, Any]) -> None:
    names = [name for name in _SLOPES if results["numbers"][name]["value"] is not None]
    for place, name in enumerate(names):
        held = results["numbers"][name]
        colour = _VERMILLION if name == "order_slope" else _BLUE
        axes.plot(held["value"], place, "o", color=colour, markersize=4)
        if held["low"] is not None:
            axes.plot([held["low"], held["high"]], [place, place], color=colour, linewidth=1.6)
    axes.axvline(0, color=_FAINT, linewidth=0.6)
    axes.set_yticks(range(len(names)), [_SLOPES[name] for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.3g}".replace("-", "−"))
    axes.margins(x=0.08)
    axes.set_title(f"Slope of L_SPT along the pattern (ratio {results['options']['mask_ratio']:g})")
    axes.set_xlabel("negative: reconstruction writes it; bars: 95 %")


_CURVES = {
    "pattern": ("the pattern", _INK),
    "descent": ("what reconstruction writes", _BLUE),
    "predicted": ("unmasked", _BLUE),
    "predicted_masked": ("tokens masked", _VERMILLION),
}


def _profiles(axes: Axes, results: dict[str, Any], names: tuple[str, str]) -> None:
    for name in names:
        held, (label, colour) = results["profiles"][name], _CURVES[name]
        distance, value = np.array(held["distance"]), np.array(held["value"])
        scale = float(np.abs(value).max()) or 1.0
        label = label if name == "pattern" else f"{label} (× {1 / scale:.3g})"
        axes.plot(distance, value / scale, color=colour, label=label, linewidth=1.1)
        if held.get("low") is not None:
            low, high = np.array(held["low"]) / scale, np.array(held["high"]) / scale
            axes.fill_between(distance, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.axhline(0, color=_FAINT, linewidth=0.6)
    axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    last = results["profiles"]["pattern"]["distance"][-1]
    ticks = [0, *(10**n for n in range(6) if 10**n <= last)]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(0, last)
    axes.set_ylim(-1.15, 1.15)
    axes.legend(loc="lower left")
    axes.set_xlabel("distance |i − j|")
    axes.set_ylabel("mean score over its largest")
    title = "The pattern, and the steepest descent of L_SPT"
    axes.set_title(title if "pattern" in names else f"Predicted positional pattern ({results['options']['positions']})")


def _ratios(axes: Axes, results: dict[str, Any]) -> None:
    ratios = results["masking_ratios"]
    places = np.array([held["mask_ratio"] for held in ratios])
    for name, label, colour, shift in (
        ("spt_slope_masked", "whole slope", _BLUE, -0.006),
        ("order_slope", "part that rests on order", _VERMILLION, 0.006),
    ):
        values = [held[name] for held in ratios]
        axes.plot(places + shift, [v["value"] for v in values], "o-", color=colour, label=label, markersize=4, lw=0.8)
        for place, held in zip(places + shift, values, strict=True):
            if held["low"] is not None:
                axes.plot([place, place], [held["low"], held["high"]], color=colour, linewidth=1.6)
    axes.axhline(0, color=_FAINT, linewidth=0.6)
    axes.set_xlim(0, 1)
    axes.set_title("Masked slope by masking ratio")
    axes.set_xlabel("masking ratio ρ")
    axes.set_ylabel("slope of L_SPT")
    axes.legend()

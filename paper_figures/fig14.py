"""Figure 14: Proposition 1 and its diagonal-masked variant on real tokens, for a locality-inducing pattern.

The label loss and the reconstruction loss are followed along ``s = alpha * pattern`` through uniform attention, for
minus the distance of positions and for its exact projection onto the blind set of the mask.  The tangents are the
statements of the claims, evaluated by ``numerics`` on the same tokens; the raw pattern, which is not blind, is the
control: its slopes are those of G1.  Checked by ``tests/paper_figures/test_fig14.py``, which reads the saved numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from numerics.inputs import TokenData, photograph_crops
from paper_figures.fig14_curves import FARTHEST, NEAREST, Curve, Measurement, measure
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.sources import Source
from paper_figures.style import BLUE, FAINT, INK, PAGE, SMALL, VERMILLION, figure_style, number
from theory.claim import QUANTITY_TEXT, Part, Quantity

SIDE = 8
_COLOURS = {"projected": BLUE, "raw": VERMILLION}
_LABELS = {
    "projected": "projected: the part in the blind set of its mask",
    "raw": r"raw: $-|i-j|$, not blind",
}
_TANGENT: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 0.9}
_BEND: dict[str, Any] = {"linestyle": ":", "linewidth": 1.3}
_LOSSES = {
    Quantity.SUPERVISED_SLOPE: r"\mathcal{L}_{\mathrm{sup}}",
    Quantity.RECONSTRUCTION_SLOPE: r"\mathcal{L}_{\mathrm{SPT}}",
}


def draw(data: TokenData | None = None) -> Drawing:
    """Measure and draw.

    Args:
        data: token sequences with two classes of labels; by default 8 x 8 grey crops of matplotlib's photograph.
            The projection is exact, so lengths up to a few hundred are practical.

    Returns:
        The picture with its numbers; ``holds`` says whether every slope was found as predicted.
    """
    measurement = measure(photograph_crops(SIDE) if data is None else data)
    with figure_style():
        picture = _picture(measurement)
    lines = tuple(_summary(curve) for curve in measurement.curves)
    numbers = {
        "schema_version": 1,
        "figure": FIGURE.name,
        "source": FIGURE.place,
        "caption": caption(measurement),
        **measurement.record(),
    }
    return Drawing(picture, numbers, lines, measurement.holds)


def caption(measurement: Measurement) -> str:
    """The caption, written from the numbers."""
    shares = " and ".join(f"{float(share):.3f} ({mask} mask)" for mask, share in measurement.blind_energy.items())
    slopes = " and ".join(f"{c.predicted:.3g} ({c.mask} mask)" for c in measurement.curves if _seen(c))
    samples, count, _ = measurement.data.tokens.shape
    return (
        f"Numerical verification of Proposition 1 for the locality-inducing pattern minus |i − j|, on {samples} real "
        f"sequences of length {count} ({measurement.data.name}), mean pooling, {measurement.loss_name} loss. Curves: "
        "change of the label loss (top) and of the reconstruction loss (bottom) from uniform attention; dashed: "
        "tangents predicted by P1 and P1-diag for the exact projection onto the blind set of the mask, and by G1 for "
        f"the raw pattern. The projection keeps this share of the row-centred pattern's energy: {shares}. The raw "
        f"pattern is not blind: its label loss has slope {slopes}. Under the full mask reconstruction sees the same "
        "slope along both, for its gradient has no part outside the blind set (G8). Insets: near 0 the label loss has "
        "no slope along the projected pattern, only curvature (dotted: the measured second derivative)."
    )


def _picture(measurement: Measurement) -> Figure:
    picture = Figure(figsize=(PAGE, 6.3))
    rows = (Quantity.SUPERVISED_SLOPE, Quantity.RECONSTRUCTION_SLOPE)
    grid = picture.subplots(2, len(measurement.masks), sharex=True, sharey="row", squeeze=False)
    for row, quantity in enumerate(rows):
        for column, mask in enumerate(measurement.masks):
            curves = [c for c in measurement.curves if c.mask == mask and c.quantity is quantity]
            _panel(grid[row, column], curves, "abcd"[row * len(measurement.masks) + column])
    for axes, mask in zip(grid[0], measurement.masks, strict=True):
        axes.annotate(
            f"{mask} mask, blind energy {float(measurement.blind_energy[mask]):.3f}", (0.5, 1.0), (0, 36),
            ha="center", fontsize=9, fontweight="bold",
            xycoords="axes fraction", textcoords="offset points",
        )  # fmt: skip
    for axes, quantity in zip(grid[:, 0], rows, strict=True):
        axes.set_ylabel(rf"${_LOSSES[quantity]}(\alpha) - {_LOSSES[quantity]}(0)$")
    for axes in grid[-1]:
        axes.set_xlabel(r"strength $\alpha$ of the score pattern")
        axes.xaxis.set_major_locator(MultipleLocator(FARTHEST / 2))
    handles = [Line2D([], [], color=_COLOURS[name], label=label) for name, label in _LABELS.items()]
    handles.append(Line2D([], [], color=INK, **_TANGENT, label="tangent predicted at 0"))
    handles.append(Line2D([], [], color=INK, **_BEND, label="curvature measured at 0"))
    picture.legend(handles=handles, loc="outside lower center", ncols=2)
    return picture


def _panel(axes: Axes, curves: list[Curve], letter: str) -> None:
    axes.axhline(0, color=FAINT, linewidth=0.5, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=0.5, zorder=0)
    for curve in curves:
        _curve(axes, curve)
    axes.margins(x=0, y=0.06)
    axes.annotate(
        f"({letter})", (0, 1), (-34, 11), xycoords="axes fraction", textcoords="offset points", fontweight="bold"
    )
    for line, curve in enumerate(curves):
        name = "raw, not blind" if _seen(curve) else curve.pattern
        says = f"{name}: slope {number(curve.predicted)} by {curve.claim}, {number(curve.measured)} measured"
        axes.annotate(
            says, (0, 1), (2, 17 - 11 * line), color=_COLOURS[curve.pattern], fontsize=SMALL,
            xycoords="axes fraction", textcoords="offset points",
        )  # fmt: skip
    blind = next(curve for curve in curves if curve.pattern == "projected")
    if blind.quantity is Quantity.SUPERVISED_SLOPE:
        axes.text(0.97, 0.05, _statement(blind.part, blind.claim), ha="right", va="bottom", transform=axes.transAxes)
        _inset(axes.inset_axes((0.11, 0.62, 0.33, 0.31)), curves)
    else:
        axes.text(0.97, 0.95, _statement(blind.part, blind.claim), ha="right", va="top", transform=axes.transAxes)


def _statement(part: Part, claim: str) -> str:
    displayed = part.latex.replace(r"\frac", r"\dfrac")  # a text fraction would be too small to read
    return f"{claim}\n${displayed}$"


def _seen(curve: Curve) -> bool:
    """Whether it is the raw pattern's label loss, which has a slope."""
    return curve.pattern == "raw" and curve.quantity is Quantity.SUPERVISED_SLOPE


def _curve(axes: Axes, curve: Curve) -> None:
    colour = _COLOURS[curve.pattern]
    axes.plot(curve.alphas, curve.losses - curve.loss_at_zero, color=colour)
    axes.plot(curve.alphas, curve.predicted * curve.alphas, color=INK, **_TANGENT)


def _inset(axes: Axes, curves: list[Curve]) -> None:
    """The label loss so near to 0 that the projected pattern's curvature is all that moves it."""
    for curve in curves:
        axes.plot(curve.near_alphas, curve.near_losses - curve.loss_at_zero, color=_COLOURS[curve.pattern])
        if curve.pattern == "projected":
            bend = (curve.curvature or 0.0) * curve.near_alphas**2 / 2
            axes.plot(curve.near_alphas, bend, color=INK, **_BEND)
            axes.axhline(0, color=INK, **_TANGENT)
            depth = float(np.abs(bend).max())
            tick = 10.0 ** np.floor(np.log10(depth)) if depth > 0 else 1.0
            axes.set(ylim=(-1.5 * depth, 1.5 * depth) if depth > 0 else (-1, 1), yticks=(-tick, 0, tick))
    axes.margins(x=0)
    axes.tick_params(labelsize=6, length=2, pad=1.5)
    axes.xaxis.set_major_locator(MultipleLocator(NEAREST))
    axes.yaxis.offsetText.set_fontsize(6)


def _summary(curve: Curve) -> str:
    verdict = "agrees" if curve.within else "DISAGREES"
    note = ", not blind" if _seen(curve) else ""
    return (
        f"{curve.mask} mask, {curve.pattern} pattern{note}: {QUANTITY_TEXT[curve.quantity]} predicted by {curve.claim} "
        f"{curve.predicted:.6g}, measured {curve.measured:.6g}, difference {abs(curve.difference):.1e}, "
        f"tolerance {curve.tolerance:.1e}: {verdict}; remainder test: {curve.slope_test.outcome.value}"
    )


_PHOTOGRAPH = Source(
    "the photograph that ships with matplotlib",
    Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg",
    "python -m pip install --force-reinstall --no-deps matplotlib",
)
FIGURE = PaperFigure(
    "fig14",
    "Numerical verification of Proposition 1 for a locality-inducing pattern, full and diagonal mask",
    "arXiv 2605.21070, Figure 14",
    (lambda kept: _PHOTOGRAPH,),
    lambda kept: draw(),
)

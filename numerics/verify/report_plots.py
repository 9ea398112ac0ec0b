"""The plots of the report: Taylor-remainder slope plots and step-size V-curves, as inline SVG.

No text of a claim reaches matplotlib (a ``$`` in it would be read as mathematics): names stand in the page's
captions.  Colours are written as the page's CSS variables, so one drawing serves light and dark; identifiers carry
a prefix, so many drawings share one page; the same input gives the same bytes.
"""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

# Placeholders that matplotlib draws with, and the page's variables that replace them.
_INK, _FAINT, _MAIN, _SECOND, _FLOOR = "#010101", "#020202", "#030303", "#040404", "#050505"
_VARIABLES = {
    _INK: "var(--ink)",
    _FAINT: "var(--plot-faint)",
    _MAIN: "var(--plot-main)",
    _SECOND: "var(--plot-second)",
    _FLOOR: "var(--plot-floor)",
}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.color": _INK,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
}

Points = list[tuple[float, float]]


def log_points(xs: object, ys: object) -> Points:
    """Pairs that logarithmic axes can show: finite, x above 0, |y| above 0.

    >>> log_points([0.1, 0.2, 0.3], [-1.0, 0.0, None])
    [(0.1, 1.0)]
    """
    if not isinstance(xs, Sequence) or not isinstance(ys, Sequence):
        return []
    pairs = []
    for x, y in zip(xs, ys, strict=False):
        if all(isinstance(v, (int, float)) and math.isfinite(v) for v in (x, y)) and x > 0 and y != 0:
            pairs.append((float(x), abs(float(y))))
    return sorted(pairs)


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(3.9, 2.7))
    FigureCanvasSVG(figure)
    axes = figure.add_axes((0.135, 0.16, 0.845, 0.68))  # fixed: a computed layout takes twice as long
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("step h")
    return figure, axes


def _svg(figure: Figure, prefix: str, label: str) -> str:
    """The figure as an SVG element: no prologue, no metadata, page colours, identifiers of its own."""
    buffer = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(buffer, format="svg", transparent=True, metadata=metadata)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.S)
    # Small: identifiers that nothing points at, digits below a hundredth of a pixel and line breaks all go.
    used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r"(\.\d\d)\d+", r"\1", text)
    text = re.sub(r"\s+", " ", text).replace("> <", "><")
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    for placeholder, variable in _VARIABLES.items():
        text = text.replace(placeholder, variable)
    accessible = f'<svg class="plot" role="img" aria-label="{html.escape(label)}"'
    return text.replace("<svg", accessible, 1).strip()


def _reference(axes: Axes, points: Points, order: int) -> None:
    """A dashed line of the given order through the rightmost point, over the range of steps."""
    (left, _), (right, height) = points[0], points[-1]
    ends = [height * (left / right) ** order, height]
    axes.plot(
        [left, right], ends, color=_FAINT, linestyle="--" if order == 2 else ":", label=f"order {order}", zorder=1
    )


def _draw(draw: Any, prefix: str, label: str) -> str:
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": prefix}):
        figure, axes = _figure()
        draw(axes)
        handles, _ = axes.get_legend_handles_labels()
        if handles:
            figure.legend(loc="upper center", ncols=3, handlelength=1.8, columnspacing=1.0)
        return _svg(figure, prefix, label)


def slope_plot(test: Mapping[str, Any], prefix: str) -> str:
    """Taylor remainder over the step, beside lines of order 1 and 2; empty when there is nothing to draw.

    Args:
        test: one entry of ``numbers["slope_tests"]`` of an evidence.
        prefix: letters, digits and hyphens, unique on the page; identifiers of the drawing start with it.

    A right slope leaves a remainder of order 2 or more, a wrong one of order 1.

    >>> svg = slope_plot({"name": "x²", "steps": [0.1, 0.01], "remainders": [1e-2, 1e-4]}, "p0")
    >>> svg.startswith("<svg") and 'id="p0-' in svg
    True
    """
    remainders = log_points(test.get("steps"), test.get("remainders"))
    changes = log_points(test.get("steps"), test.get("changes"))
    steps = test.get("steps")
    level = test.get("floor")
    levels = level if isinstance(level, Sequence) else [level] * len(steps) if isinstance(steps, Sequence) else []
    floor = log_points(steps, levels)
    if not remainders and not changes:
        return ""

    def draw(axes: Axes) -> None:
        anchor = remainders or changes
        if len(anchor) > 1:
            _reference(axes, anchor, 1)
            _reference(axes, anchor, 2)
        if changes:
            axes.plot(*zip(*changes, strict=True), color=_SECOND, marker="s", markersize=3, label="|change|")
        if remainders:
            axes.plot(*zip(*remainders, strict=True), color=_MAIN, marker="o", label="|remainder|")
        if floor:
            axes.plot(*zip(*floor, strict=True), color=_FLOOR, linestyle="-.", linewidth=1, label="rounding floor")

    zeros = "" if remainders else "; every remainder is exactly 0"
    return _draw(draw, prefix, f"Slope plot of {test.get('name', 'a slope test')}: remainder over step size{zeros}")


def sweep_plot(sweep: Mapping[str, Any], prefix: str) -> str:
    """Error over step size, with the best step marked: the V of truncation and rounding; empty without points.

    Args:
        sweep: one entry of ``numbers["step_sweeps"]`` of an evidence.
        prefix: as for :func:`slope_plot`.

    >>> sweep_plot({"name": "none", "steps": [], "errors": []}, "p1")
    ''
    """
    points = log_points(sweep.get("steps"), sweep.get("errors"))
    if not points:
        return ""
    best = min(points, key=lambda point: point[1])

    def draw(axes: Axes) -> None:
        axes.plot(*zip(*points, strict=True), color=_MAIN, marker="o", label="|error|")
        axes.plot(*best, color=_SECOND, marker="D", markersize=6, linestyle="", label=f"best step {best[0]:.0e}")

    return _draw(
        draw, prefix, f"Step-size curve of {sweep.get('name', 'a sweep')}: smallest error at step {best[0]:.1e}"
    )

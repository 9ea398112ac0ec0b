"""Panels that several figures share: the two conditions over an axis, and matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paper_figures.spread import Spread
from paper_figures.style import BLUE, FAINT, GREEN, VERMILLION

#: Condition of a record, with its words, colour, marker and dashes: told apart without colour too.
CONDITIONS: Mapping[str, tuple[str, str, str, Any]] = {
    "scratch": ("labels alone", VERMILLION, "o", (0, (4, 1.5))),
    "spt-finetune": ("SPT, then labels", BLUE, "s", "-"),
    "spt": ("self-pretraining (SPT)", GREEN, "^", "-"),
}


def curve(axes: Axes, condition: str, points: Mapping[float, Spread], markers: bool = True) -> None:
    """Mean over seeds with the max-min band, and with the 95 % interval as bars where there are markers."""
    _, colour, marker, dashes = CONDITIONS[condition]
    at = np.array(list(points))
    mean, least, greatest = (np.array([getattr(p, name) for p in points.values()]) for name in _DRAWN)
    axes.fill_between(at, least, greatest, color=colour, alpha=0.18, linewidth=0)
    axes.plot(at, mean, color=colour, linestyle=dashes, marker=marker if markers else "", markersize=3.5)
    if markers:
        bars(axes, points, colour)


def bars(axes: Axes, points: Mapping[float, Spread], colour: str, **style: Any) -> None:
    """95 % intervals of the mean; none for a single seed."""
    known = {at: point for at, point in points.items() if np.isfinite(point.low)}
    ends = np.array([[p.mean - p.low, p.high - p.mean] for p in known.values()]).reshape(-1, 2).T
    means = [p.mean for p in known.values()]
    axes.errorbar(list(known), means, ends, fmt="none", ecolor=colour, elinewidth=1.0, capsize=2.5, **style)


_DRAWN = ("mean", "least", "greatest")


def legend_of(conditions: Sequence[str], markers: bool = True) -> list[Line2D | Patch]:
    """Handles for the conditions, the band and the bars."""
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=colour, marker=marker if markers else "", markersize=3.5, linestyle=dashes, label=words)
        for words, colour, marker, dashes in (CONDITIONS[name] for name in conditions)
    ]
    handles.append(Patch(color=FAINT, alpha=0.3, linewidth=0, label="max–min over seeds"))
    if markers:
        handles.append(
            Line2D([], [], color=FAINT, marker="|", markersize=7, linestyle="", label="95 % interval of mean")
        )
    return handles


def rate_axis(axes: Axes, rates: Sequence[float]) -> None:
    """A logarithmic axis of learning rates with a tick at each that was run."""
    axes.set_xscale("log")
    axes.set_xticks(list(rates), labels=[f"{rate:g}".replace("e-0", "e-") for rate in rates])
    axes.set_xticks([], minor=True)
    axes.set_xlim(min(rates) / 1.4, max(rates) * 1.4)


def listed(rates: Iterable[float]) -> str:
    """Learning rates in a sentence.

    >>> listed([0.001, 0.01]), listed([])
    ('0.001, 0.01', 'none')
    """
    return ", ".join(f"{rate:g}" for rate in rates) or "none"


def matrix(axes: Axes, values: Shaped[np.ndarray, "rows columns"], **style: Any) -> AxesImage:
    """A matrix as an image, every entry a square."""
    image = axes.imshow(np.asarray(values, dtype=np.float64), interpolation="nearest", rasterized=True, **style)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=2)
    return image


def signed_limit(values: Shaped[np.ndarray, "rows columns"]) -> float:
    """Largest absolute entry, as the limit of a colour scale around 0."""
    return float(np.abs(values).max()) or 1.0


def rounded(values: Float[np.ndarray, "..."], digits: int = 5) -> Any:
    """An array as nested lists of a few significant digits, for JSON."""
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"), otypes=[float])(values).tolist()

"""Two pictures of a check: the remainder against the step, and the V-curve of the central difference.

Matplotlib is imported only here and only when a picture is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from .errors import GradientCheckError
from .finite_difference import DerivativeEstimate
from .slope import SlopeCheck

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MEASURED, _REFERENCE, _FLOOR = "#1b4f8a", "#8a8a8a", "#c8553d"


def plot_slope(check: SlopeCheck, ax: Axes | None = None) -> Axes:
    """Draw R0 and R1 against the step in log-log, with reference lines of order 1 and 2 and the rounding floor.

    Args:
        check: a check with a remainder.
        ax: axes to draw on; new ones by default.

    Raises:
        GradientCheckError: if the check has no remainder (the function was not finite).

    Example:
        >>> import math, matplotlib
        >>> matplotlib.use("Agg")
        >>> from numerics.gradcheck import check_slope
        >>> [line.get_label() for line in plot_slope(check_slope(math.sin, 1.0)).get_lines()][:2]
        ['$R_1$: claim subtracted', '$R_0$: function alone']
    """
    if not check.steps:
        raise GradientCheckError(f"the check has no remainder to draw: {check.reason}; look at its reason instead")
    axes = _axes(ax)
    steps = np.array(check.steps)
    remainders, plain = np.array(check.remainders), np.array(check.remainders0)
    axes.loglog(steps, _positive(remainders), "o-", color=_MEASURED, label="$R_1$: claim subtracted")
    axes.loglog(steps, _positive(plain), "s:", color=_MEASURED, alpha=0.5, label="$R_0$: function alone")
    anchor = remainders[0] if remainders[0] > 0 else plain[0]
    if anchor > 0:
        for order, style in ((1, "--"), (2, "-")):
            reference = anchor * (steps / steps[0]) ** order
            axes.loglog(steps, reference, style, color=_REFERENCE, linewidth=1, label=f"order {order}")
    axes.loglog(steps, _positive(np.array(check.floor)), color=_FLOOR, linewidth=1, label="rounding floor")
    axes.set_xlabel("step $h$")
    axes.set_ylabel("remainder")
    title = f"{check.outcome.value}: claimed {check.claimed:.4g}, measured {check.estimated:.4g}"
    axes.set_title(title, fontsize="medium")
    return _finish(axes, "lower right")


def plot_sweep(estimate: DerivativeEstimate, ax: Axes | None = None) -> Axes:
    """Draw the V-curve: the distance of each central difference from the estimate, and its rounding floor.

    Args:
        estimate: an estimate with a sweep.
        ax: axes to draw on; new ones by default.

    Raises:
        GradientCheckError: if the estimate has no sweep (the function was not finite).
    """
    sweep = estimate.sweep
    if not sweep.steps:
        raise GradientCheckError(f"the estimate has no sweep to draw: {estimate.reason}; look at its reason instead")
    axes = _axes(ax)
    axes.loglog(
        sweep.steps,
        _positive(np.array(sweep.differences)),
        "o-",
        color=_MEASURED,
        label="|central difference - estimate|",
    )
    axes.loglog(sweep.steps, _positive(np.array(sweep.rounding)), color=_FLOOR, linewidth=1, label="rounding floor")
    axes.axvline(estimate.step, color=_REFERENCE, linewidth=1, linestyle="--", label="step used")
    axes.set_xlabel("step $h$")
    axes.set_ylabel("difference")
    axes.set_title(f"{estimate.status.value}: {estimate.value:.6g} $\\pm$ {estimate.error:.1g}", fontsize="medium")
    return _finish(axes, "lower left")


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib.figure import Figure  # slow to import, and not needed for verdicts

    return Figure(figsize=(5, 3.6), layout="constrained").add_subplot()


def _positive(values: np.ndarray) -> np.ndarray:
    """Zeros have no place on a logarithmic axis; they are left out."""
    return np.where(values > 0, values, np.nan)


def _finish(axes: Axes, legend_corner: Literal["lower left", "lower right"]) -> Axes:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small", loc=legend_corner)
    return axes

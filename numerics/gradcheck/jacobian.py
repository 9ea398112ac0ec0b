"""Is every entry of a claimed Jacobian right? The full check, entry by entry, with a tolerance derived for each.

No random projection stands in for the entries (a fast mode hides one wrong entry in 40000: pytorch#59615), and no
tolerance is chosen by hand: every entry carries the error bound of its own finite difference. The worst entry is
named with its index and with both values, the *claimed* one and the *measured* one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .errors import GradientCheckError
from .ladder import NOT_DETERMINISTIC, Array, Flags, jitter, sample, step_ladder
from .remainder import PLATEAU, estimate, secant_scale, split_remainder
from .slope import SlopeOutcome
from .vector import claimed_matrix, float64_function


@dataclass(frozen=True)
class JacobianEntry:
    """One entry: the derivative of one output with respect to one input.

    Attributes:
        output_index, input_index: indices in the shapes of the function's value and of the point.
        claimed: what the caller says.
        measured: what finite differences say.
        error_bound: bound on the error of ``measured`` (truncation plus rounding); the tolerance of this entry.
        absolute_error: |claimed - measured|.
        relative_error: the same divided by the larger of |claimed| and |measured| (0 when both are 0).
    """

    output_index: tuple[int, ...]
    input_index: tuple[int, ...]
    claimed: float
    measured: float
    error_bound: float
    absolute_error: float
    relative_error: float

    def __str__(self) -> str:
        return (
            f"output {list(self.output_index)}, input {list(self.input_index)}: claimed {self.claimed:.8g}, measured"
            f" {self.measured:.8g} +- {self.error_bound:.1e} (absolute error {self.absolute_error:.2g}, relative"
            f" {self.relative_error:.2g})"
        )


@dataclass(frozen=True, eq=False)
class JacobianCheck:
    """Verdict on a claimed Jacobian. Arrays have shape [m, n] for m outputs and n inputs, both flattened.

    Attributes:
        outcome: PASS, FAIL (an entry is wrong) or INCONCLUSIVE (no entry is wrong, but some cannot be judged).
        reason: one sentence; names the worst entry unless all is well.
        worst: the wrong entry with the largest absolute error; without wrong entries the one that cannot be judged
            and is furthest off in units of its error bound; without those the same among all entries.
        wrong: number of wrong entries.
        unjudged: number of entries that could be neither passed nor failed.
        claimed, measured: both Jacobians.
        error_bound: bound on the error of ``measured``; inf where nothing could be measured.
        scale: slope scale that each output was judged by, shape [m].
        vacuous_outputs: flat indices of outputs that do not move beyond rounding at any step.
        nfev: number of function evaluations.
    """

    outcome: SlopeOutcome
    reason: str
    worst: JacobianEntry | None
    wrong: int
    unjudged: int
    claimed: Array
    measured: Array
    error_bound: Array
    scale: Array
    vacuous_outputs: tuple[int, ...]
    nfev: int

    @property
    def passed(self) -> bool:
        """Whether the outcome is PASS."""
        return self.outcome is SlopeOutcome.PASS


def check_jacobian(
    function: Callable[[Any], Any],
    claimed_jacobian: Any,
    at: Any,
    *,
    scale: float | None = None,
    largest_step: float | None = None,
    step_count: int = 12,
    relative_resolution: float = 1e-3,
    seed: int = 0,
) -> JacobianCheck:
    """Check every entry of a claimed Jacobian.

    Args:
        function: takes a float64 array or tensor of the shape of ``at``, returns a float64 array or tensor. It gets a
            fresh contiguous copy at every call and is called n * (2 * step_count + 3) + 1 times for n inputs.
        claimed_jacobian: shape [*outputs, *inputs], or [m, n] flattened.
        at: the point, float64 (numpy, torch, or nested lists of floats). Expanded tensors (stride 0) are copied, so
            that each input moves alone (pytorch#38586).
        scale: size of slopes that matter; by default, for each output, the largest entry of its row.
        largest_step: see ``check_slope``; steps are scaled to each input separately.
        step_count: number of steps for each input.
        relative_resolution: a PASS requires that an error of every entry by this share of the scale would show.
        seed: see ``check_slope``.

    Raises:
        PrecisionError: when the point or the values are not float64.
        ShapeError: when the claimed Jacobian does not fit.
        GradientCheckError: when an argument is out of range.

    Example:
        >>> import numpy as np
        >>> matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> check_jacobian(lambda x: matrix @ x, matrix, np.array([0.5, -1.0])).outcome
        <SlopeOutcome.PASS: 'pass'>
        >>> wrong = check_jacobian(lambda x: matrix @ x, matrix.T, np.array([0.5, -1.0]))
        >>> wrong.wrong, wrong.worst.output_index, wrong.worst.input_index, wrong.worst.claimed
        (2, (0,), (1,), 3.0)
    """
    for name, value in (("scale", scale), ("relative_resolution", relative_resolution)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise GradientCheckError(f"{name} must be positive and finite: {value}; leave it out for a default")
    point, call = float64_function(function, at)
    center, output_shape = call(point)
    inputs, outputs = point.size, center.size
    claimed, claim_epsilon = claimed_matrix(claimed_jacobian, output_shape, point.shape, outputs, inputs)

    measured = np.full((outputs, inputs), math.nan)
    error_bound = np.full((outputs, inputs), math.inf)
    secants = np.zeros((outputs, inputs))
    wrong = ~np.isfinite(claimed)
    kink, plateau, consistent = (np.zeros((outputs, inputs), dtype=bool) for _ in range(3))
    still = np.ones(outputs, dtype=bool)
    remarks: list[str] = []
    calls = 1
    shrink = jitter(seed)
    for column, coordinate in enumerate(point.ravel()):

        def along(value: float, column: int = column) -> Array:
            moved = point.copy()
            moved.reshape(-1)[column] = value
            return call(moved)[0]

        steps = shrink * step_ladder(float(coordinate), torch.float64, largest_step, step_count)
        ladder = sample(along, float(coordinate), steps, torch.float64, center)
        calls += ladder.calls
        if not ladder.usable:
            remarks.append(f"input {list(_index(column, point.shape))}: {ladder.non_finite_reason()}")
            still[:] = False
            continue
        if not ladder.deterministic:
            remarks.insert(0, NOT_DETERMINISTIC)
            break
        known = np.where(np.isfinite(claimed[:, column]), claimed[:, column], 0.0)
        remainder = split_remainder(ladder, known, claim_epsilon)
        found = estimate(remainder)
        measured[:, column] = known + found.slope_error
        error_bound[:, column] = found.uncertainty
        secants[:, column] = secant_scale(remainder)
        wrong[:, column] |= found.wrong
        kink[:, column], plateau[:, column], consistent[:, column] = found.kink, found.plateau, found.consistent
        still &= ladder.still

    reference = _row_scale(claimed, measured, error_bound, secants) if scale is None else np.full(outputs, scale)
    coarse = 2 * error_bound > relative_resolution * reference[:, None]
    unjudged = ~wrong & (kink | plateau | ~consistent | coarse)
    if NOT_DETERMINISTIC in remarks:
        wrong, unjudged = np.zeros_like(wrong), np.ones_like(wrong)
    worst = _worst(claimed, measured, error_bound, wrong, unjudged, output_shape, point.shape)
    vacuous = bool(still.all()) and scale is None and not claimed.any()
    if wrong.any():
        outcome = SlopeOutcome.FAIL
        reason = f"{int(wrong.sum())} of {wrong.size} entries wrong; worst: {worst}"
    elif remarks:
        outcome, reason = SlopeOutcome.INCONCLUSIVE, remarks[0]
    elif vacuous:
        outcome = SlopeOutcome.INCONCLUSIVE
        reason = "vacuous: no output moves beyond rounding; pass scale, or choose a point where one does"
    elif unjudged.any() and worst is not None:
        row, column = _flat(worst, output_shape, point.shape)
        if kink[row, column]:
            cause = "left and right slopes differ"
        elif plateau[row, column]:
            cause = PLATEAU
        elif coarse[row, column]:
            hidden = 2 * error_bound[row, column]
            cause = f"rounding or curvature hides errors up to {hidden:.2g} (slope scale {reference[row]:.2g})"
        else:
            cause = "neither clearly right nor clearly wrong"
        outcome = SlopeOutcome.INCONCLUSIVE
        reason = f"{int(unjudged.sum())} of {wrong.size} entries cannot be judged; {cause} at {worst}"
    else:
        outcome, reason = SlopeOutcome.PASS, f"all {wrong.size} entries lie within their error bounds"
    return JacobianCheck(
        outcome=outcome,
        reason=reason,
        worst=worst,
        wrong=int(wrong.sum()),
        unjudged=int(unjudged.sum()),
        claimed=claimed,
        measured=measured,
        error_bound=error_bound,
        scale=reference,
        vacuous_outputs=tuple(int(row) for row in np.flatnonzero(still)),
        nfev=calls,
    )


def _row_scale(claimed: Array, measured: Array, error_bound: Array, secants: Array) -> Array:
    """Size of a slope of each output: its largest entry, else its steepest secant, else the largest of all outputs."""
    sure = np.where(np.abs(measured) > error_bound, np.abs(measured), 0.0)
    rows = np.maximum(np.where(np.isfinite(claimed), np.abs(claimed), 0.0), sure).max(axis=1)
    rows = np.where(rows > 0, rows, secants.max(axis=1))
    return np.asarray(np.where(rows > 0, rows, rows.max()), dtype=np.float64)


def _worst(
    claimed: Array,
    measured: Array,
    error_bound: Array,
    wrong: Flags,
    unjudged: Flags,
    output_shape: tuple[int, ...],
    input_shape: tuple[int, ...],
) -> JacobianEntry | None:
    """The entry to look at first."""
    if not claimed.size:
        return None
    off = np.abs(claimed - measured)
    with np.errstate(divide="ignore", invalid="ignore"):
        in_bounds = np.where(off == 0, 0.0, off / error_bound)
    if wrong.any():
        badness = np.where(wrong, np.where(np.isnan(off), math.inf, off), -1.0)
    else:
        candidates = unjudged if unjudged.any() else np.ones_like(unjudged)
        badness = np.where(candidates, np.where(np.isnan(in_bounds), math.inf, in_bounds), -1.0)
    row, column = np.unravel_index(int(np.argmax(badness)), claimed.shape)
    absolute = float(off[row, column])
    larger = max(abs(float(claimed[row, column])), abs(float(measured[row, column])))
    return JacobianEntry(
        output_index=_index(int(row), output_shape),
        input_index=_index(int(column), input_shape),
        claimed=float(claimed[row, column]),
        measured=float(measured[row, column]),
        error_bound=float(error_bound[row, column]),
        absolute_error=absolute,
        relative_error=absolute / larger if larger else absolute,
    )


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(part) for part in np.unravel_index(flat, shape)) if shape else ()


def _flat(entry: JacobianEntry, output_shape: tuple[int, ...], input_shape: tuple[int, ...]) -> tuple[int, int]:
    row = int(np.ravel_multi_index(entry.output_index, output_shape)) if output_shape else 0
    column = int(np.ravel_multi_index(entry.input_index, input_shape)) if input_shape else 0
    return row, column

"""Check claimed gradients: verdicts from Taylor remainders and error bars, not from a guessed tolerance.

* ``check_slope``: is a claimed slope of a function of one real variable right? Pass, fail or inconclusive.
* ``differentiate``: the derivative by finite differences, with an error bar and the sweep over step sizes.
* ``check_jacobian``: is every entry of a claimed Jacobian right?
* ``plot_slope``, ``plot_sweep``: pictures of the first two (matplotlib is imported when they are called).

The package is general: it knows nothing of the theory in this repository and accepts any function of floats, numpy
or torch values.

Example:
    >>> import torch
    >>> point = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    >>> (slope,) = torch.autograd.grad(torch.tanh(point), point)
    >>> check_slope(torch.tanh, slope, at=point).outcome
    <SlopeOutcome.PASS: 'pass'>
    >>> wrong = check_slope(torch.tanh, 0.999 * slope, at=point)
    >>> wrong.outcome, round(wrong.observed_order)
    (<SlopeOutcome.FAIL: 'fail'>, 1)
    >>> relu_at_zero = check_slope(torch.relu, 0.0, at=torch.tensor(0.0))
    >>> relu_at_zero.outcome
    <SlopeOutcome.INCONCLUSIVE: 'inconclusive'>
"""

from .errors import GradientCheckError, PrecisionError, ShapeError
from .finite_difference import DerivativeEstimate, DerivativeStatus, StepSweep, differentiate
from .jacobian import JacobianCheck, JacobianEntry, check_jacobian
from .plots import plot_slope, plot_sweep
from .slope import SlopeCheck, SlopeOutcome, check_slope

__all__ = [
    "DerivativeEstimate",
    "DerivativeStatus",
    "GradientCheckError",
    "JacobianCheck",
    "JacobianEntry",
    "PrecisionError",
    "ShapeError",
    "SlopeCheck",
    "SlopeOutcome",
    "StepSweep",
    "check_jacobian",
    "check_slope",
    "differentiate",
    "plot_slope",
    "plot_sweep",
]

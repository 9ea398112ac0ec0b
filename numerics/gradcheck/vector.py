"""What a Jacobian check accepts: a float64 point, a float64 function, and a claim that fits both.

Lower precision is refused with a sentence: central differences of float32 values leave errors of 1e-4 and more in
each entry, too coarse to find one wrong entry (pytorch#5351).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .errors import GradientCheckError, PrecisionError, ShapeError
from .ladder import Array
from .precision import epsilon, format_of


def float64_function(
    function: Callable[[Any], Any], at: Any
) -> tuple[Array, Callable[[Array], tuple[Array, tuple[int, ...]]]]:
    """The point as a fresh contiguous array, and the function as a map from such arrays to flat values and shape."""
    if isinstance(at, torch.Tensor):
        _require_float64("point", at.dtype, at.dtype is torch.float64)
        point = np.array(at.detach().cpu().numpy(), dtype=np.float64, order="C")
    else:
        array = np.asarray(at)
        _require_float64("point", array.dtype, array.dtype == np.float64)
        point = np.array(array, dtype=np.float64, order="C")
    if not np.isfinite(point).all() or not point.size:
        raise GradientCheckError(f"the point must be finite and not empty: shape={point.shape}; choose another point")

    def call(node: Array) -> tuple[Array, tuple[int, ...]]:
        argument = torch.from_numpy(node.copy()).to(at.device) if isinstance(at, torch.Tensor) else node.copy()
        value = function(argument)
        if isinstance(value, torch.Tensor):
            _require_float64("value", value.dtype, value.dtype is torch.float64)
            value = value.detach().cpu().numpy()
        result = np.asarray(value)
        _require_float64("value", result.dtype, result.dtype == np.float64)
        return np.array(result, dtype=np.float64).ravel(), result.shape

    return point, call


def _require_float64(what: str, dtype: Any, holds: bool) -> None:
    if not holds:
        raise PrecisionError(
            f"check_jacobian works in float64: dtype of the {what} is {dtype}; convert the point and the function's"
            " parameters to float64 (steps in lower precision cannot resolve single entries)"
        )


def claimed_matrix(
    claimed: Any, output_shape: tuple[int, ...], input_shape: tuple[int, ...], outputs: int, inputs: int
) -> tuple[Array, float]:
    """The claim as an [m, n] matrix, and the spacing of the numbers it was computed in."""
    claim_epsilon = epsilon(format_of(claimed))
    matrix = claimed.detach().cpu().double().numpy() if isinstance(claimed, torch.Tensor) else np.asarray(claimed)
    accepted = ((*output_shape, *input_shape), (outputs, inputs))
    if matrix.shape not in accepted:
        raise ShapeError(
            f"the claimed Jacobian must have shape [*outputs, *inputs] = {accepted[0]}: shape={matrix.shape};"
            " transpose or reshape it"
        )
    return np.array(matrix, dtype=np.float64).reshape(outputs, inputs), claim_epsilon

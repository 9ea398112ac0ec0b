"""How large a rounding error of a float64 route can be, and how large a slope could have been.

``slope_scale`` bounds the quantity by the sum of absolute values of its terms, from the definition's first-order
bound ``|a'_ij| <= (|Delta_ij| + mean |Delta_i.|) / n_i``.  It serves twice: as what a non-zero slope would look like,
and, times the rounding factor ``gamma_n = n u / (1 - n u)`` (Higham, Accuracy and Stability, section 3.1), as the
tolerance of a float64 evaluation with n roundings on its longest chain.
"""

from __future__ import annotations

import numpy as np

from numerics.instances import Instance
from theory.claim import Quantity

UNIT_ROUNDOFF = 2.0**-53


def _floats(values: object) -> np.ndarray:
    return np.abs(np.asarray(values, dtype=np.float64))


def slope_scale(instance: Instance, quantity: Quantity) -> float:
    """Sum of absolute values of the terms of a quantity: an upper bound of it that only cancellation reduces."""
    mask, pattern = _floats(instance.mask), _floats(instance.pattern)
    tokens, weights, pooling = _floats(instance.tokens), _floats(instance.sample_weights), _floats(instance.pooling)
    keys = mask.sum(1)
    attention = mask * (pattern + ((pattern * mask).sum(1) / keys)[:, None]) / keys[:, None]
    if quantity is Quantity.ATTENTION_SLOPE:
        return float(attention.max())
    if quantity is Quantity.TOKEN_INFLUENCE:
        return float((pooling @ attention).max())
    if quantity is Quantity.POOLED_SLOPE:
        return float(np.einsum("j,njc->nc", pooling @ attention, tokens).max())
    outputs = (mask / keys[:, None]) @ tokens
    pull = instance.loss.gradient_bound(np.einsum("i,nic->nc", pooling, outputs))
    moved = np.einsum("n,nc,njc->j", weights, pull, tokens, optimize=True)
    if quantity is Quantity.SUPERVISED_SLOPE:
        return float(pooling @ attention @ moved)
    if quantity is Quantity.SUPERVISED_CURVATURE:
        return float(3 * pattern.max() * (pooling @ attention @ moved))
    if quantity is Quantity.SUPERVISED_GRADIENT:
        return float((pooling / keys).max() * (moved.max() + moved.mean()))
    weighted = tokens * weights[:, None, None]
    errors = np.tensordot(outputs + tokens, weighted, axes=([0, 2], [0, 2])) / len(mask)
    if quantity is Quantity.RECONSTRUCTION_SLOPE:
        return float((attention * errors).sum())
    if quantity is Quantity.RECONSTRUCTION_GRADIENT:
        return float((errors.max() + errors.mean()) / keys.min())
    if quantity is Quantity.GRADIENT_PRODUCT:
        left = slope_scale(instance, Quantity.SUPERVISED_GRADIENT)
        return float(mask.sum() * left * slope_scale(instance, Quantity.RECONSTRUCTION_GRADIENT))
    raise ValueError(f"no slope scale for the quantity {quantity}")


def rounding_count(instance: Instance) -> int:
    """Roundings on the longest chain of the definition and its derivative.

    Three sums over positions (softmax denominator, output, pooling), one over features, one over samples, a few
    elementwise operations; differentiation at most doubles them, and the claimed value is evaluated once more.
    """
    samples, count, dimension = instance.tokens.shape
    return int(3 * (3 * count + 2 * dimension + samples + 30))


def tolerance(instance: Instance, quantity: Quantity) -> float:
    """Largest deviation that rounding alone can explain."""
    steps = rounding_count(instance) * UNIT_ROUNDOFF
    return steps / (1 - steps) * slope_scale(instance, quantity)

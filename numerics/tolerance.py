"""How large a rounding error of a float64 route can be, and how large a slope could have been.

Both are sums of absolute values of the terms of a quantity.  ``slope_scale`` bounds every intermediate term, with
``|a'_ij| <= (|Delta_ij| + mean |Delta_i.|) / n_i``; times ``gamma_n = n u / (1 - n u)`` (Higham, Accuracy and
Stability, section 3.1) it is the tolerance of a float64 evaluation with n roundings on its longest chain.
``term_scale`` sums the statement's own terms: a quantity far below it has cancelled, and shows little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from numerics.blind_set import centre_rows
from numerics.evaluate import SAMPLE
from numerics.instances import MASKED, Instance
from numerics.measure import GRADIENTS, loss_gradients, loss_hessians, readout_gradients
from numerics.rings import Absolute, Floats
from theory import objects
from theory.claim import OBJECTIVES, Quantity
from theory.composition import READOUT, RESIDUAL_READOUT, bend
from theory.general import true_value
from theory.query_key import bilinear, centred_scores
from theory.sums import Tensor

_READOUTS = {
    READOUT: Quantity.READOUT_SLOPE,
    RESIDUAL_READOUT: Quantity.RESIDUAL_READOUT_SLOPE,
}

UNIT_ROUNDOFF = 2.0**-53


def _floats(values: object) -> np.ndarray:
    return np.abs(np.asarray(values, dtype=np.float64))


def slope_scale(instance: Instance, quantity: Quantity) -> float:
    """Bound of the intermediate terms of a quantity: what rounding errors are relative to."""
    if quantity in OBJECTIVES or quantity in MASKED:
        return _absolute_terms(instance, quantity, {})
    mask, pattern = _floats(instance.mask), _floats(instance.pattern)
    spread = mask * (pattern + ((pattern * mask).sum(1) / mask.sum(1))[:, None])
    size = _pooled_size(instance)
    return _terms(instance, quantity, spread, instance.loss.gradient_bound(size), instance.loss.hessian_bound(size))


def term_scale(instance: Instance, quantity: Quantity) -> float:
    """Sum of absolute values of the statement's own terms, which only cancellation between them reduces."""
    if quantity in OBJECTIVES or quantity in MASKED:
        environment = instance.environment(Floats())
        known: dict[Tensor, Any] = {objects.loss_gradient: ((SAMPLE, "c"), loss_gradients(instance))}
        for path, behind in _READOUTS.items():
            if bend in instance.overrides:
                known[path.token_gradient] = ((SAMPLE, "i", "c"), readout_gradients(instance, behind))
        for tensor in (objects.centred, centred_scores):
            if tensor == objects.centred or bilinear in instance.overrides:
                formal = tensor.formal_indices()
                dims = ((SAMPLE,) if tensor.random else ()) + tuple(i.name for i in formal)
                known[tensor] = (dims, environment.evaluate(tensor[formal], formal))
        return _absolute_terms(instance, quantity, known)
    mask, pattern = np.asarray(instance.mask, dtype=np.float64), np.asarray(instance.pattern, dtype=np.float64)
    centred = np.abs(centre_rows(pattern, mask))
    gradient, hessian = loss_gradients(instance), loss_hessians(instance)
    return _terms(instance, quantity, centred, np.abs(gradient), np.abs(hessian))


def _absolute_terms(instance: Instance, quantity: Quantity, known: Mapping[Tensor, Any]) -> float:
    """The general formula of a quantity with every number replaced by its size; ``known`` are sizes put in by hand."""
    if quantity is Quantity.SUPERVISED_SLOPE_ANYWHERE:
        return _terms_anywhere(instance, known)
    sizes: dict[Tensor, Any] = {}
    for path in _READOUTS:
        size = _floats(instance.tokens).max(axis=1) * (2 if path.residual else 1)
        if bend in instance.overrides:
            curve = _floats(instance.extra(bend))
            pull = instance.loss.gradient_bound(size + curve * size**2) * (1 + 2 * curve * size)
            weights = _floats(instance.pooling)
            sizes[path.token_gradient] = ((SAMPLE, "i", "c"), pull[:, None, :] * weights[:, None])
    sizes[objects.loss_gradient] = ((SAMPLE, "c"), instance.loss.gradient_bound(_pooled_size(instance)))
    held = replace(instance, overrides={**instance.overrides, **sizes, **known})
    general = true_value(Quantity.MASKED_SLOPE if quantity in MASKED else quantity)
    return float(held.environment(Absolute()).evaluate(general))


def _terms_anywhere(instance: Instance, known: Mapping[Tensor, Any]) -> float:
    # |a'_ij| <= 2 a_ij max|Delta|, and rounding of a score is a relative error of its exponential.
    reach = float(_floats(instance.pattern).max())
    size = _floats(instance.tokens).max(axis=1)
    pull = instance.loss.gradient_bound(size) * (1 + reach)
    if objects.loss_gradient in known:
        pull = _floats(known[objects.loss_gradient][1])
    return float((_floats(instance.sample_weights) @ (pull * size).sum(1)) * 2 * reach)


def _pooled_size(instance: Instance) -> np.ndarray:
    mask = _floats(instance.mask)
    outputs = (mask / mask.sum(1)[:, None]) @ _floats(instance.tokens)
    return np.asarray(np.einsum("i,nic->nc", _floats(instance.pooling), outputs))


def _terms(instance: Instance, quantity: Quantity, spread: np.ndarray, pull: np.ndarray, hessian: np.ndarray) -> float:
    """Sum of absolute terms, given bounds of the centred pattern and of the loss derivatives."""
    mask, pooling = _floats(instance.mask), _floats(instance.pooling)
    tokens, weights = _floats(instance.tokens), _floats(instance.sample_weights)
    keys = mask.sum(1)
    attention = spread / keys[:, None]
    if quantity is Quantity.ATTENTION_SLOPE:
        return float(attention.max())
    if quantity is Quantity.TOKEN_INFLUENCE:
        return float((pooling @ attention).max())
    response = np.einsum("j,njc->nc", pooling @ attention, tokens)
    if quantity is Quantity.POOLED_SLOPE:
        return float(response.max())
    # |a''_ij| <= (s_ij^2 + mean_k s_ik^2) / n_i, by the softmax curvature with |centred| <= s.
    bend = mask * (spread**2 + ((spread**2).sum(1) / keys)[:, None]) / keys[:, None]
    if quantity is Quantity.POOLED_CURVATURE:
        return float(np.einsum("j,njc->nc", pooling @ bend, tokens).max())
    moved = np.einsum("n,nc,njc->j", weights, pull, tokens, optimize=True)
    if quantity is Quantity.SUPERVISED_SLOPE:
        return float(pooling @ attention @ moved)
    if quantity is Quantity.SUPERVISED_CURVATURE:
        return float(pooling @ bend @ moved + np.einsum("n,nc,nce,ne->", weights, response, hessian, response))
    if quantity is Quantity.SUPERVISED_GRADIENT:
        return float((pooling / keys).max() * (moved.max() + moved.mean()))
    outputs = (mask / keys[:, None]) @ tokens
    weighted = tokens * weights[:, None, None]
    errors = np.tensordot(outputs + tokens, weighted, axes=([0, 2], [0, 2])) / len(mask)
    if quantity is Quantity.RECONSTRUCTION_SLOPE:
        return float((attention * errors).sum())
    if quantity is Quantity.RECONSTRUCTION_GRADIENT:
        return float((errors.max() + errors.mean()) / keys.min())
    if quantity is Quantity.GRADIENT_PRODUCT:
        left, right = (_terms(instance, q, spread, pull, hessian) for q in GRADIENTS)
        return float(mask.sum() * left * right)
    raise ValueError(f"no scale for the quantity {quantity}")


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

"""The definition of section 5, written once for every kind of number.

Attention along a score pattern, outputs, pooled vector and the two objectives, generic over exact rational series,
balls and float64 tensors: an array type with ``*``, ``/``, ``@``, ``sum`` and an elementwise ``exp`` is all they need.
No closed form is used here; the numeric routes differentiate exactly this.

Arrays are numpy object arrays of exact numbers, series or balls, or float64 tensors; L positions, N samples and
d features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxtyping import Shaped


def attention(
    step: Any, pattern: Shaped[Any, "L L"], mask: Shaped[Any, "L L"], exp: Callable[[Any], Any]
) -> Shaped[Any, "L L"]:
    """Softmax over the keys that the mask allows, of the scores ``step * pattern``."""
    weights = exp(step * pattern) * mask
    return weights / weights.sum(1)[:, None]


def outputs(attention: Shaped[Any, "L L"], tokens: Shaped[Any, "N L d"]) -> Shaped[Any, "N L d"]:
    """``o_i = sum_j a_ij X_j``, as one matrix product over all sequences side by side."""
    samples, count, width = tokens.shape
    columns = tokens.swapaxes(0, 1).reshape(count, samples * width)
    return (attention @ columns).reshape(count, samples, width).swapaxes(0, 1)


def pooled_vectors(outputs: Shaped[Any, "N L d"], pooling: Shaped[Any, " L"]) -> Shaped[Any, "N d"]:
    """Pooling-weighted sum of the outputs over positions."""
    return (outputs * pooling[:, None]).sum(1)


def supervised_loss(
    attention: Shaped[Any, "L L"],
    tokens: Shaped[Any, "N L d"],
    sample_weights: Shaped[Any, " N"],
    pooling: Shaped[Any, " L"],
    loss: Callable[[Any], Any],
) -> Any:
    """``L_sup = E[l(h, Y)]``; ``loss`` maps pooled vectors N x d to one value a sample."""
    return (loss(pooled_vectors(outputs(attention, tokens), pooling)) * sample_weights).sum(0)


def masked_reconstruction_loss(
    attention: Shaped[Any, "L L"],
    tokens: Shaped[Any, "N L d"],
    kept: Shaped[Any, "N L"],
    sample_weights: Shaped[Any, " N"],
    count: Any,
) -> Any:
    """Error at the masked positions, from inputs without them, over ``2 count`` (a number, or one a sample)."""
    errors = tokens - outputs(attention, tokens * kept[:, :, None])
    per_sample = ((errors * errors).sum(2) * (1 - kept)).sum(1)
    return (per_sample * sample_weights / (2 * count)).sum(0)


def reconstruction_loss(
    attention: Shaped[Any, "L L"], tokens: Shaped[Any, "N L d"], sample_weights: Shaped[Any, " N"]
) -> Any:
    """``L_SPT = (1/2L) sum_i E |X_i - o_i|^2``, with unmasked inputs."""
    errors = tokens - outputs(attention, tokens)
    per_sample = (errors * errors).sum(2).sum(1)
    return (per_sample * sample_weights).sum(0) / (2 * tokens.shape[1])

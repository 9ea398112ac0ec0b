"""The unmasked reconstruction slope of every sequence by automatic differentiation of the definition, in float64.

The loss is linear in the sample weights, so that backpropagation through the slope gives one slope a sequence.  It
needs L x L arrays: long sequences are left out, and many sequences are sampled; the result says how many were used.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float64

from numerics import definition

#: Longest sequences, and how many products of numbers attention takes at most: about ten seconds on one core.
MOST_POSITIONS, MOST_PRODUCTS = 4096, 2**33


def slopes_by_autograd(
    pattern: Float64[np.ndarray, "L L"], mask: Bool[np.ndarray, "L L"], tokens: Float64[np.ndarray, "N L d"]
) -> Float64[np.ndarray, " N"]:
    """One slope a sequence; every sequence has weight one.

    >>> pattern, mask = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones((2, 2), dtype=bool)
    >>> slopes_by_autograd(pattern, mask, np.array([[[1.0], [0.0]]])).tolist()
    [-0.25]
    """
    step = torch.zeros((), dtype=torch.float64, requires_grad=True)
    weights = torch.ones(len(tokens), dtype=torch.float64, requires_grad=True)
    held, allowed = torch.from_numpy(pattern), torch.from_numpy(mask.astype(np.float64))
    attention = definition.attention(step, held, allowed, torch.exp)
    loss = definition.reconstruction_loss(attention, torch.from_numpy(tokens), weights)
    (slope,) = torch.autograd.grad(loss, step, create_graph=True)
    (slopes,) = torch.autograd.grad(slope, weights)
    return np.asarray(slopes.numpy())


def chosen_members(count: int, length: int, width: int) -> np.ndarray | None:
    """Sequences that fit, spread over the file; ``None`` where L x L arrays do not fit."""
    if length > MOST_POSITIONS:
        return None
    most = max(2, MOST_PRODUCTS // (length * length * width))
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)

"""Where the attention stands at initialisation: entropy, logit spread, distance, and how different the values are.

Averages run over the sequences and the queries that are not padding; keys outside the mask do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class HeadStatistics:
    """Averages of one head over sequences and queries."""

    relative_entropy: float | None
    """Entropy over log n, n the keys a query may attend to: 1 uniform, 0 one key (queries with one key left out)."""
    logit_spread: float
    """Standard deviation of the scores over the keys of a query, in nats."""
    mean_distance: float | None
    """Attention-weighted ``|i - j|`` in positions; ``None`` where queries and keys are not the same positions."""
    uniform_distance: float | None
    """The same under uniform attention."""
    value_spread: float
    """``sum |v_j - mean v|^2 / sum |v_j|^2`` over the tokens of a sequence: 0 when all tokens are the same."""


def attention_statistics(attention: Tensor, scores: Tensor, values: Tensor, shown: Tensor) -> list[HeadStatistics]:
    """Statistics of every head.

    Args:
        attention, scores: N x H x L x S.
        values: N x H x S x E.
        shown: bool, N x H x L x S: pairs of a query that is not padding and a key that it may attend to.

    >>> uniform = torch.full((1, 1, 2, 2), 0.5, dtype=torch.float64)
    >>> everywhere = torch.ones(1, 1, 2, 2, dtype=torch.bool)
    >>> found = attention_statistics(uniform, torch.zeros_like(uniform), torch.eye(2).double()[None, None], everywhere)
    >>> found[0].relative_entropy, found[0].mean_distance, found[0].value_spread
    (1.0, 0.5, 0.5)
    """
    keys = shown.sum(-1)
    held = keys > 0
    entropy = -torch.xlogy(attention, attention).sum(-1) / keys.clamp(min=2).to(attention.dtype).log()
    inside = torch.where(shown, scores, 0.0)
    centred = torch.where(shown, inside - inside.sum(-1, keepdim=True) / keys.clamp(min=1)[..., None], 0.0)
    spread = (centred.square().sum(-1) / keys.clamp(min=1)).sqrt()
    entropies, spreads = _row_means(entropy, keys > 1), _row_means(spread, held)
    count = attention.shape[1]
    distances: list[float | None] = [None] * count
    uniform_distances: list[float | None] = [None] * count
    if attention.shape[-1] == attention.shape[-2]:
        position = torch.arange(attention.shape[-1], dtype=attention.dtype, device=attention.device)
        gap = (position[:, None] - position).abs()
        distances = _row_means((attention * gap).sum(-1), held)
        uniform_distances = _row_means((shown * gap).sum(-1) / keys.clamp(min=1), held)
    spreads_of_values = _value_spread(values, shown.any(-2))
    return [
        HeadStatistics(entropies[h], spreads[h] or 0.0, distances[h], uniform_distances[h], spreads_of_values[h])
        for h in range(count)
    ]


def _row_means(rows: Tensor, counted: Tensor) -> list[float | None]:
    """Mean of N x H x L over the counted rows, for each head; ``None`` for a head without any."""
    total = torch.where(counted, rows, 0.0).sum((0, 2))
    number = counted.sum((0, 2))
    return [float(t / n) if n > 0 else None for t, n in zip(total, number, strict=True)]


def _value_spread(values: Tensor, present: Tensor) -> list[float]:
    """Share of the values' energy that differs between tokens; 0 for values that are all zero."""
    weights = present[..., None].to(values.dtype)
    mean = (values * weights).sum(2, keepdim=True) / weights.sum(2, keepdim=True).clamp(min=1)
    different = ((values - mean).square() * weights).sum((0, 2, 3))
    energy = (values.square() * weights).sum((0, 2, 3))
    return [float(d / e) if e > 0 else 0.0 for d, e in zip(different, energy, strict=True)]

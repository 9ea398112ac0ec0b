"""Length-bucketed batches: sequences of like length together, so that little of a batch is padding.

Each epoch the order is random; within windows of ``window`` batches the sequences are sorted by length and cut into
batches, whose order is random again.  Every sequence is seen once an epoch and every batch has its usual size; what
changes is which sequences share a batch, so a run says whether it was bucketed.
"""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from training.randomness import generator


def bucketed_batches(
    lengths: Int[Tensor, "samples *pair"], steps: int, seed: int, epoch: int, window: int = 50
) -> list[Int[Tensor, "..."]]:
    """The indices of each batch of one epoch; a function of seed and epoch alone.

    >>> batches = bucketed_batches(torch.tensor([9, 1, 8, 2]), steps=2, seed=0, epoch=0)
    >>> sorted(sorted(batch.tolist()) for batch in batches)
    [[0, 2], [1, 3]]
    """
    longest = lengths.flatten(1).amax(1) if lengths.ndim > 1 else lengths
    order = torch.randperm(len(longest), generator=generator(seed, "order", epoch))
    batches: list[Tensor] = []
    for piece in _windows(order, steps, window):
        ranked = piece[longest[piece].argsort(stable=True)]
        batches += ranked.tensor_split(min(window, steps - len(batches)))
    shuffled = torch.randperm(len(batches), generator=generator(seed, "bucket order", epoch))
    return [batches[index] for index in shuffled.tolist()]


def _windows(order: Int[Tensor, " samples"], steps: int, window: int) -> list[Int[Tensor, "..."]]:
    """The order cut into runs of ``window`` batches (the last may be shorter)."""
    bounds = torch.tensor([len(batch) for batch in order.tensor_split(steps)]).cumsum(0)
    return list(order.tensor_split(bounds[window - 1 : -1 : window]))


def padded_tokens(lengths: Int[Tensor, "samples *pair"], batches: list[Int[Tensor, "..."]]) -> int:
    """Padding in all batches: tokens that a cropped batch holds beyond its sequences."""
    held = sum(int(lengths[batch].max()) * lengths[batch].numel() for batch in batches)
    return held - int(lengths.sum())

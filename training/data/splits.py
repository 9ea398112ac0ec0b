"""Named, seeded splits of a pool of samples, cut as ``torch.utils.data.random_split`` (the code base's way) does."""

from __future__ import annotations

import torch
from jaxtyping import Int
from numpy import ndarray

from training.data.places import DataError

#: The seed of every split in the code base (its training seed is another).
SPLIT_SEED = 42
_SOURCE = "code: torch random_split, generator seed 42"


def random_split(sizes: dict[str, int], seed: int = SPLIT_SEED) -> dict[str, Int[ndarray, "..."]]:
    """Indices of each named split of ``sum(sizes)`` samples: consecutive pieces of one random permutation.

    >>> {name: len(index) for name, index in random_split({"train": 4, "validation": 1}).items()}
    {'train': 4, 'validation': 1}
    """
    order = torch.randperm(sum(sizes.values()), generator=torch.Generator().manual_seed(seed))
    pieces = order.split(list(sizes.values()))
    return {name: piece.numpy() for name, piece in zip(sizes, pieces, strict=True)}


def tenths(count: int) -> dict[str, int]:
    """80/10/10 as the code base rounds it: a tenth each, rounded down, the rest to train."""
    if count < 10:
        raise DataError(f"a split into tenths needs 10 samples: there are {count}; get more data")
    tenth = int(0.1 * count)
    return {"train": count - 2 * tenth, "validation": tenth, "test": tenth}


def limited(index: Int[ndarray, " samples"], limit: int) -> Int[ndarray, " kept"]:
    """The first ``limit`` of a split that is in random order; 0 keeps all."""
    if limit < 0:
        raise DataError(f"a limit must not be negative: {limit}; use 0 for all")
    return index[:limit] if limit else index

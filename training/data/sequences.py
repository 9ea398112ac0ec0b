"""What a task hands to training: sequences in memory, their lengths, labels and reconstruction targets.

Tokens are either continuous, ``samples tokens channels`` (float), or discrete, ``samples tokens`` (int, id 0 is the
mask symbol).  A sequence shorter than the array is padded at its end; ``lengths`` says where it stops and nothing
downstream reads further.  Pairs of sequences (Retrieval) carry an extra axis of 2 after the samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from numerics.errors import InputError


@dataclass(frozen=True)
class Batch:
    """Some sequences, cropped to the longest of them."""

    tokens: Shaped[Tensor, "batch ..."]
    """Continuous ``batch tokens channels``, or ids ``batch tokens``; pairs: ``batch 2 tokens``."""
    lengths: Int[Tensor, "batch *pair"]
    """Number of valid tokens of each sequence."""
    labels: Int[Tensor, " batch"] | None
    """Class of each sample, from 0; None where there are no labels."""
    targets: Shaped[Tensor, "batch ..."]
    """What reconstruction predicts: the tokens themselves, or a class id for each token."""


@dataclass(frozen=True)
class SequenceSet:
    """One split of a task."""

    tokens: Shaped[Tensor, "samples ..."]
    """Continuous or discrete tokens, padded at the end."""
    lengths: Int[Tensor, "samples *pair"]
    """Number of valid tokens of each sequence, at least 1."""
    labels: Int[Tensor, " samples"] | None = None
    """Class of each sample, from 0; None for unlabeled sequences."""
    targets: Shaped[Tensor, "samples ..."] | None = None
    """Reconstruction targets where they are not the tokens themselves (PathFinder: one of 256 classes)."""

    def __post_init__(self) -> None:
        """Refuse empty splits and lengths outside the array."""
        if len(self.tokens) == 0:
            raise InputError("a split needs samples: it has 0; ask for at least one")
        if int(self.lengths.min()) < 1:
            raise InputError("every sequence needs a token: the shortest length is 0; drop empty sequences")

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.tokens)

    def batch(self, indices: Int[Tensor, " batch"]) -> Batch:
        """The named samples, cropped to their longest sequence."""
        lengths = self.lengths[indices]
        longest = int(lengths.max())
        axis = lengths.ndim
        tokens = self.tokens[indices].narrow(axis, 0, longest)
        targets = tokens if self.targets is None else self.targets[indices].narrow(axis, 0, longest)
        return Batch(tokens, lengths, None if self.labels is None else self.labels[indices], targets)

    def subset(self, count: int) -> SequenceSet:
        """The first ``count`` samples."""
        indices = torch.arange(min(count, len(self)))
        return SequenceSet(
            self.tokens[indices],
            self.lengths[indices],
            None if self.labels is None else self.labels[indices],
            None if self.targets is None else self.targets[indices],
        )


@dataclass(frozen=True)
class TaskData:
    """The splits of a task."""

    train: SequenceSet
    """Labeled training sequences."""
    validation: SequenceSet
    """Held out; used to choose."""
    test: SequenceSet
    """Held out; used to report."""
    unlabeled: SequenceSet
    """What self-pretraining sees (often the training sequences themselves)."""
    classes: int
    """Number of classes."""


class Task(Protocol):
    """A frozen dataclass of choices that can make or read its data."""

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        ...

    def load(self) -> TaskData:
        """All splits, in memory; the same for the same configuration."""
        ...

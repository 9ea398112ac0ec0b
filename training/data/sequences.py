"""What a task hands to training: sequences in memory, their lengths, labels and reconstruction targets.

Tokens are either continuous, ``samples tokens channels`` (float), or discrete, ``samples tokens`` (int, id 0 is the
mask symbol).  A sequence shorter than the array is padded at its end; ``lengths`` says where it stops and nothing
downstream reads further.  Pairs of sequences (Retrieval) carry an extra axis of 2 after the samples.

Storage is compact: ids and pixels stay bytes (often in a memory-mapped file) and become what the network reads only in
a batch: ids int64, pixels ``scale * byte + offset``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

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
class Scaling:
    """How stored bytes become values: ``scale * stored + offset`` in float32."""

    scale: float
    """Value of one grey level."""
    offset: float
    """Value of grey level 0."""

    def values(self, stored: Shaped[Tensor, "..."]) -> Shaped[Tensor, "..."]:
        """The values of stored bytes.

        >>> Scaling(scale=2.0, offset=-1.0).values(torch.tensor([0, 1], dtype=torch.uint8)).tolist()
        [-1.0, 1.0]
        """
        return stored.float().mul_(self.scale).add_(self.offset)


@dataclass(frozen=True)
class SequenceSet:
    """One split of a task."""

    tokens: Shaped[Tensor, "samples ..."]
    """Continuous or discrete tokens, padded at the end, as stored; ``values`` gives what the network reads."""
    lengths: Int[Tensor, "samples *pair"]
    """Number of valid tokens of each sequence, at least 1."""
    labels: Int[Tensor, " samples"] | None = None
    """Class of each sample, from 0; None for unlabeled sequences."""
    targets: Shaped[Tensor, "samples ..."] | None = None
    """Reconstruction targets where they are not the tokens themselves (PathFinder: one of 256 classes)."""
    scaling: Scaling | None = None
    """How stored bytes become continuous tokens; None where the stored numbers are the tokens themselves."""

    def __post_init__(self) -> None:
        """Refuse empty splits and lengths outside the array."""
        if len(self.tokens) == 0:
            raise InputError("a split needs samples: it has 0; ask for at least one")
        if int(self.lengths.min()) < 1:
            raise InputError("every sequence needs a token: the shortest length is 0; drop empty sequences")

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.tokens)

    def values(self, indices: Int[Tensor, " batch"]) -> Shaped[Tensor, "batch ..."]:
        """The tokens of the named samples as the network reads them, not cropped."""
        return self._values(self.tokens[indices])

    def batch(self, indices: Int[Tensor, " batch"]) -> Batch:
        """The named samples, cropped to their longest sequence."""
        lengths = self.lengths[indices]
        longest = int(lengths.max())
        axis = lengths.ndim
        tokens = self._values(self.tokens[indices].narrow(axis, 0, longest))
        targets = tokens if self.targets is None else _ids(self.targets[indices].narrow(axis, 0, longest))
        return Batch(tokens, lengths, None if self.labels is None else self.labels[indices], targets)

    def _values(self, stored: Shaped[Tensor, "..."]) -> Shaped[Tensor, "..."]:
        return _ids(stored) if self.scaling is None else self.scaling.values(stored)

    def subset(self, count: int) -> SequenceSet:
        """The first ``count`` samples."""
        indices = torch.arange(min(count, len(self)))
        return replace(
            self,
            tokens=self.tokens[indices],
            lengths=self.lengths[indices],
            labels=None if self.labels is None else self.labels[indices],
            targets=None if self.targets is None else self.targets[indices],
        )

    def unlabeled(self) -> SequenceSet:
        """The same sequences without labels; the two of a pair count as two sequences (nothing is copied)."""
        if self.lengths.ndim == 1:
            return replace(self, labels=None)
        return replace(
            self,
            tokens=self.tokens.flatten(0, 1),
            lengths=self.lengths.flatten(),
            labels=None,
            targets=None if self.targets is None else self.targets.flatten(0, 1),
        )


def _ids(stored: Shaped[Tensor, "..."]) -> Shaped[Tensor, "..."]:
    """Small integers as int64; anything else as it is."""
    return stored.long() if stored.dtype in (torch.uint8, torch.int16, torch.int32) else stored


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
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Where the data came from: sources, splits and SHA-256 of every array; empty for data that a seed makes."""


class Task(Protocol):
    """A frozen dataclass of choices that can make or read its data."""

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        ...

    def load(self) -> TaskData:
        """All splits, in memory; the same for the same configuration."""
        ...

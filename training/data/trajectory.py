"""The synthetic trajectory task of section 4 and appendix C.

A sequence is a noisy orbit back and forth between two anchors; the label says which pair of anchors.  Some displayed
equations of the paper did not survive, so its generator is a reconstruction: each choice that is ours is a field whose
source says so.  With t = j/L and label y,

    theta = 2 pi cycles speed t + phase + warp sin(2 pi t + warp_phase)
    x_j = (1 - tau) a_y + tau b_y + amplitude sin(theta) n + noise N(0, I) + outliers,   tau = (1 - cos theta)/2,

n the unit normal of the axis from a_y to b_y.  The label shows in the sign of E[x1 x2]: a mean-pooled linear classifier
is weak, a second-order statistic nearly perfect (the test says so).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numerics.errors import InputError
from training.config import configuration, setting
from training.data.sequences import SequenceSet, TaskData
from training.randomness import generator

_PAPER = "paper, appendix C"
_SIZES = "paper, section 4"
_OURS = "ours: the paper's equation did not survive (design note toy.md)"

#: Anchors (a_y, b_y) of each label; paper, appendix C.
ANCHORS = (((0.66, 0.55), (-0.495, -0.605)), ((0.605, -0.55), (-0.55, 0.605)))


@configuration
@dataclass(frozen=True)
class TrajectoryTask:
    """Two-dimensional orbits between label-dependent anchors; balanced binary labels.

    >>> data = TrajectoryTask(seed=1, unlabeled=50).load()
    >>> tuple(data.train.tokens.shape), len(data.test), data.classes
    ((100, 100, 2), 400, 2)
    """

    seed: int = 0
    """Seed of the data; experiments use the seed of the run, so that conditions are paired."""
    length: int = setting(100, _PAPER)
    """Number of points of a trajectory."""
    train: int = setting(100, _SIZES)
    """Labeled training sequences, balanced before labels are flipped."""
    validation: int = setting(200, _SIZES)
    """Validation sequences, balanced."""
    test: int = setting(400, _SIZES)
    """Test sequences, balanced."""
    unlabeled: int = setting(12_000, _SIZES)
    """Sequences for self-pretraining."""
    label_flip: float = setting(0.15, _SIZES)
    """Share of training labels that are flipped; validation and test labels are true."""
    amplitude_low: float = setting(0.12, _PAPER)
    """Smallest orbital amplitude s."""
    amplitude_high: float = setting(0.28, _PAPER)
    """Largest orbital amplitude s."""
    speed_deviation: float = setting(0.1, _PAPER)
    """Standard deviation of the speed alpha around 1."""
    cycles: float = setting(2.0, _OURS)
    """Round trips between the anchors at speed 1."""
    warp: float = setting(0.6, _OURS)
    """Strength of the random-phase time reparametrisation, in radians; below 2 pi cycles time never runs backwards."""
    noise: float = setting(0.3, _OURS)
    """Standard deviation of the Gaussian noise in each coordinate; .3 leaves the task learnable but not trivial."""
    most_outliers: int = setting(3, _PAPER)
    """Outliers a sequence: uniform on 0 .. this."""
    outlier_deviation: float = setting(1.0, _PAPER)
    """Standard deviation of an outlier's displacement in each coordinate."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        if not 0 <= self.label_flip < 0.5:
            raise InputError(f"label_flip must lie in [0, .5): label_flip={self.label_flip}; use .15 as the paper does")
        if self.length < 2 or min(self.train, self.validation, self.test, self.unlabeled) < 2:
            raise InputError("length and every split must be at least 2; use the paper's sizes or smaller ones")
        if not 0 <= self.most_outliers <= self.length:
            raise InputError(
                f"outliers must fit into a sequence: most_outliers={self.most_outliers}, length={self.length}; use 3"
            )

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        return "trajectory"

    def load(self) -> TaskData:
        """Generate all splits; each from a generator of its own."""
        train = self._split("train", self.train)
        flips = generator(self.seed, "trajectory", "flips")
        count = round(self.label_flip * self.train)
        flipped = torch.randperm(self.train, generator=flips)[:count]
        assert train.labels is not None
        train.labels[flipped] = 1 - train.labels[flipped]
        unlabeled = self._split("unlabeled", self.unlabeled)
        return TaskData(
            train,
            self._split("validation", self.validation),
            self._split("test", self.test),
            SequenceSet(unlabeled.tokens, unlabeled.lengths),
            classes=2,
        )

    def _split(self, split: str, count: int) -> SequenceSet:
        labels = torch.arange(count) % 2
        tokens = self.trajectories(labels, generator(self.seed, "trajectory", split))
        return SequenceSet(tokens, torch.full((count,), self.length), labels)

    def trajectories(
        self, labels: Int[Tensor, " samples"], random: torch.Generator
    ) -> Float[Tensor, "samples tokens 2"]:
        """One random trajectory for each label."""
        count, full_turn = len(labels), 2 * math.pi

        def uniform(low: float, high: float) -> Float[Tensor, "samples 1"]:
            return low + (high - low) * torch.rand(count, 1, generator=random)

        amplitude = uniform(self.amplitude_low, self.amplitude_high)
        phase, warp_phase = uniform(0.0, full_turn), uniform(0.0, full_turn)
        speed = 1 + self.speed_deviation * torch.randn(count, 1, generator=random)
        time = torch.arange(self.length) / self.length
        angle = full_turn * self.cycles * speed * time + phase + self.warp * torch.sin(full_turn * time + warp_phase)
        start, end = torch.tensor(ANCHORS)[labels].unbind(1)
        axis = end - start
        normal = torch.stack([-axis[:, 1], axis[:, 0]], 1) / axis.norm(dim=1, keepdim=True)
        along = ((1 - torch.cos(angle)) / 2)[..., None]
        tokens = (1 - along) * start[:, None] + along * end[:, None]
        tokens = tokens + (amplitude * torch.sin(angle))[..., None] * normal[:, None]
        tokens = tokens + self.noise * torch.randn(count, self.length, 2, generator=random)
        return tokens + self._outliers(count, random)

    def _outliers(self, count: int, random: torch.Generator) -> Float[Tensor, "samples tokens 2"]:
        outliers = torch.randint(self.most_outliers + 1, (count, 1), generator=random)
        rank = torch.rand(count, self.length, generator=random).argsort(1).argsort(1)
        hit = (rank < outliers)[..., None]
        return hit * self.outlier_deviation * torch.randn(count, self.length, 2, generator=random)

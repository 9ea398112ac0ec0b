"""Small tasks, networks and runs that the tests of this room share."""

from __future__ import annotations

import torch

from training.data.sequences import Batch, SequenceSet
from training.data.trajectory import TrajectoryTask
from training.model.config import ModelConfig
from training.model.initialisation import InitialWeights, initialised_model
from training.model.network import SequenceModel
from training.stages import Optimiser, Pretrain, RunConfig, Supervised

TASK = TrajectoryTask(length=12, train=20, validation=10, test=10, unlabeled=40)
MODEL = ModelConfig(width=8)


def pretraining(epochs: int = 3, rate: float = 1e-2, seed: int = 0, **changes) -> RunConfig:
    stage = Pretrain(optimiser=Optimiser(learning_rate=rate), epochs=epochs, batch=8, **changes)
    return RunConfig(TASK, MODEL, InitialWeights(), stage, seed)


def labels(epochs: int = 3, rate: float = 1e-2, seed: int = 0, **changes) -> RunConfig:
    stage = Supervised(optimiser=Optimiser(learning_rate=rate), epochs=epochs, batch=8, **changes)
    return RunConfig(TASK, MODEL, InitialWeights(), stage, seed)


def network(config: ModelConfig, seed: int = 0, **weights) -> SequenceModel:
    """In float64."""
    return initialised_model(config, InitialWeights(**weights), seed).double()


def full_batch(samples: int, length: int, channels: int, seed: int = 0) -> Batch:
    """Gaussian sequences of one length with random labels, in float64."""
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randn(samples, length, channels, generator=random, dtype=torch.float64)
    tokens += torch.randn(1, length, channels, generator=random, dtype=torch.float64)
    lengths = torch.full((samples,), length)
    return Batch(tokens, lengths, torch.randint(2, (samples,), generator=random), tokens)


def ragged_set(samples: int, longest: int, *, vocabulary: int = 0, channels: int = 2, seed: int = 0) -> SequenceSet:
    """Sequences of different lengths, padded with rubbish that nothing may read."""
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, longest + 1, (samples,), generator=random)
    lengths[0] = longest
    if vocabulary:
        tokens = torch.randint(1, vocabulary, (samples, longest), generator=random)
    else:
        tokens = torch.randn(samples, longest, channels, generator=random, dtype=torch.float64)
    return SequenceSet(tokens, lengths, torch.randint(2, (samples,), generator=random))

"""What is done to a network: pretraining, supervised training, and chains of them.

A run is one stage of one seed on one task.  Finetuning is a supervised run with a ``parent`` whose parameters it
inherits, all or the named groups of them, so "self-pretraining, then labels" is a chain of two runs and the first is
shared by all that start from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numerics.errors import InputError
from training.config import config_hash, configuration, setting
from training.masking import LOSSES, NORMALISERS, check_mask_ratio
from training.model.config import ModelConfig
from training.model.groups import check_selection
from training.model.initialisation import InitialWeights


@configuration
@dataclass(frozen=True)
class Optimiser:
    """AdamW with decay on all parameters, linear warm-up, then a constant rate; no clipping."""

    learning_rate: float = 1e-3
    """Rate after warm-up."""
    warmup_steps: int = setting(0, "ours for the toy task; the paper never states warm-up, the code has 2000 to 5000")
    """Steps over which the rate grows linearly from 0."""
    weight_decay: float = setting(0.0, "paper, A.2: 0 except ListOps (.1); the code has .1 for Text only")
    """Decoupled weight decay."""
    beta1: float = setting(0.9, "code")
    """Decay of the first moment."""
    beta2: float = setting(0.999, "code")
    """Decay of the second moment."""
    epsilon: float = setting(1e-8, "code")
    """Added to the root of the second moment."""

    def __post_init__(self) -> None:
        """Refuse rates that cannot train."""
        if not 0 < self.learning_rate < float("inf"):
            raise InputError(f"a learning rate must be positive: learning_rate={self.learning_rate}; use 1e-3")
        if self.warmup_steps < 0 or self.weight_decay < 0:
            raise InputError("warm-up steps and weight decay must not be negative; use 0")


@dataclass(frozen=True)
class _Stage:
    optimiser: Optimiser = Optimiser()
    """How parameters move."""
    epochs: int = 10
    """Passes over the data."""
    batch: int = setting(33, "ours: the paper does not state the toy batch; 33 is what the design trial used")
    """Sequences a step; an epoch is cut into round(n / batch) nearly equal batches, so every sequence is seen."""
    frozen: str = setting("none", "paper, Table 2")
    """Parameter groups that do not move (see training.model.groups)."""
    evaluate_every: int = 1
    """Epochs between evaluations; the last epoch is always evaluated."""
    keep_epochs: tuple[int, ...] = ()
    """Epochs (0: before training) whose parameters are kept as epoch-NNNN.safetensors."""
    keep_steps: tuple[int, ...] = ()
    """Numbers of steps done (from 1) after which parameters are kept as step-NNNNNN.safetensors, for probes."""

    def __post_init__(self) -> None:
        """Refuse stages that do nothing."""
        if min(self.epochs, self.batch, self.evaluate_every) < 1:
            raise InputError("epochs, batch and evaluate_every must be positive; use at least 1")
        check_selection(self.frozen)
        if any(not 0 <= epoch <= self.epochs for epoch in self.keep_epochs):
            raise InputError(f"kept epochs must lie in 0..{self.epochs}: {self.keep_epochs}; drop the others")
        if any(step < 1 for step in self.keep_steps):
            raise InputError(f"kept steps count from 1: {self.keep_steps}; use keep_epochs=(0,) for the start")


@configuration
@dataclass(frozen=True)
class Pretrain(_Stage):
    """Masked reconstruction on the unlabeled sequences."""

    mask_ratio: float = setting(0.5, "code: .5 images, .15 Text and Retrieval, .1 ListOps; the paper does not state it")
    """Probability rho that a token is masked."""
    loss: str = setting("l2", "paper, A.2: L2 for Image (the code has l1), cross-entropy for the other LRA tasks")
    """Reconstruction loss: l2, l1 or cross-entropy."""
    normaliser: str = setting("actual", "code; G7 of the theory assumes the expected count")
    """Divide by the actual or the expected number of masked tokens."""

    def __post_init__(self) -> None:
        """Refuse objectives that do not exist."""
        super().__post_init__()
        check_mask_ratio(self.mask_ratio)
        if self.loss not in LOSSES:
            raise InputError(f"unknown reconstruction loss: {self.loss!r}; use one of {', '.join(LOSSES)}")
        if self.normaliser not in NORMALISERS:
            raise InputError(f"unknown normaliser: {self.normaliser!r}; use one of {', '.join(NORMALISERS)}")

    name = "spt"


@configuration
@dataclass(frozen=True)
class Supervised(_Stage):
    """Cross-entropy on the labeled training sequences."""

    epochs: int = 20
    """Passes over the data."""
    train_sample: int = setting(5000, "ours: the training accuracy of larger sets is measured on this many")
    """Training sequences on which training accuracy is measured; held-out sets are always used whole."""

    name = "labels"


@configuration
@dataclass(frozen=True)
class RunConfig:
    """One stage of one seed on one task; its hash is its identity."""

    task: Any
    """The task (a dataclass of training.data)."""
    model: ModelConfig
    """The network."""
    initial: InitialWeights
    """How the network starts, before anything is inherited."""
    stage: Pretrain | Supervised
    """What is done."""
    seed: int = 0
    """Seed of initial weights, order and masks (the task has a seed of its own)."""
    parent: RunConfig | None = None
    """The run whose final parameters are inherited."""
    inherit: str = "none"
    """Parameter groups inherited from the parent (see training.model.groups)."""

    def __post_init__(self) -> None:
        """Refuse networks that do not fit the stage, and inheritance without a parent."""
        check_selection(self.inherit)
        if (self.parent is None) != (self.inherit in ("none", "")):
            raise InputError(
                f"a run inherits exactly when it has a parent: inherit={self.inherit!r}; "
                "name groups and a parent, or neither"
            )
        if isinstance(self.stage, Pretrain):
            discrete = self.model.target_classes > 0 or self.model.vocabulary > 0
            if discrete != (self.stage.loss == "cross-entropy"):
                raise InputError(
                    f"reconstruction of classes uses cross-entropy, of values l1 or l2: loss={self.stage.loss}, "
                    f"target_classes={self.model.target_classes}, vocabulary={self.model.vocabulary}; change the loss"
                )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the whole configuration, parents included."""
        return config_hash(self)

    @property
    def id(self) -> str:
        """Name of the run's folder: task, stage, seed and the first 12 digits of the hash."""
        stage = "finetune" if self.parent is not None and self.stage.name == "labels" else self.stage.name
        return f"{self.task.name}-{stage}-s{self.seed}-{self.hash[:12]}"


def finetune(parent: RunConfig, stage: Supervised | Pretrain, inherit: str = "all") -> RunConfig:
    """The next link of a chain: same task, network, initial weights and seed, parameters inherited from ``parent``."""
    return replace(parent, stage=stage, parent=parent, inherit=inherit)


def chain(config: RunConfig) -> list[RunConfig]:
    """The run and its ancestors, first ancestor first."""
    return [*(chain(config.parent) if config.parent is not None else []), config]


def batches_per_epoch(samples: int, batch: int) -> int:
    """Steps an epoch: ``round(samples / batch)``, at least 1."""
    return max(1, round(samples / batch))


def compute_matched(
    stage: Supervised, pretraining: Pretrain, *, train_samples: int, unlabeled_samples: int
) -> Supervised:
    """The supervised stage with as many sequences seen as pretraining and it together; evaluations stay as many.

    >>> stage = Supervised(epochs=20)
    >>> compute_matched(stage, Pretrain(epochs=10), train_samples=100, unlabeled_samples=12_000).epochs
    1220
    """
    extra = round(pretraining.epochs * unlabeled_samples / train_samples)
    epochs = stage.epochs + extra
    return replace(stage, epochs=epochs, evaluate_every=max(1, round(stage.evaluate_every * epochs / stage.epochs)))

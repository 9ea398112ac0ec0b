"""A recipe: everything that a run on one task needs, every value with its source and with what other sources say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numerics.errors import InputError
from training.model.config import ModelConfig, transformer
from training.model.initialisation import InitialWeights
from training.stages import Optimiser, Pretrain, Supervised, compute_matched


@dataclass(frozen=True)
class Choice:
    """One value of a recipe."""

    value: Any
    """What is used."""
    source: str
    """Where it is from, or why it was chosen."""
    elsewhere: Mapping[str, Any] = field(default_factory=dict)
    """What other sources say, by source, where they disagree."""


@dataclass(frozen=True)
class Recipe:
    """One task at one scale.

    >>> from training.recipes.catalogue import recipe
    >>> image = recipe("image", "paper")
    >>> image.model().layers, image.changed(layers=Choice(1, "Table 4")).model().layers
    (3, 1)
    """

    dataset: str
    """Short name: listops, text, retrieval, image, pathfinder or pathx."""
    task: Any
    """The data (a task of training.data)."""
    choices: Mapping[str, Choice]
    """Every other choice by name."""

    def value(self, name: str) -> Any:
        """The value of a choice."""
        if name not in self.choices:
            raise InputError(f"unknown choice: {name!r}; a recipe has {', '.join(self.choices)}")
        return self.choices[name].value

    def changed(self, **choices: Choice) -> Recipe:
        """The recipe with some choices replaced."""
        for name in choices:
            self.value(name)
        return replace(self, choices={**self.choices, **choices})

    @property
    def seeds(self) -> range:
        """Seeds of initial weights, order and masks; the splits are the same in all of them."""
        return range(self.value("seeds"))

    def model(self, **changes: Any) -> ModelConfig:
        """The Transformer of appendix A in the recipe's shape; ``changes`` replace fields of the configuration."""
        shape = ("width", "layers", "heads", "feedforward", "classifier", "positions")
        config = transformer(**self.task.model_shape(), **{name: self.value(name) for name in shape})
        return replace(config, **changes)

    def initial(self, **changes: Any) -> InitialWeights:
        """Initial weights; attention written without training stands for the recipe's own pretraining."""
        return InitialWeights(**{"scheme": self.value("scheme"), "mask_ratio": self.value("mask_ratio"), **changes})

    def spt(self, epochs: int | None = None) -> Pretrain:
        """Self-pretraining; ``epochs`` replaces its length (Table 7)."""
        wanted = self.value("spt_epochs") if epochs is None else epochs
        return Pretrain(
            self._optimiser("spt"),
            epochs=wanted,
            batch=self.value("spt_batch"),
            evaluate_every=max(1, wanted // self.value("looks")),
            mask_ratio=self.value("mask_ratio"),
            loss=self.value("loss"),
        )

    def labels(self, frozen: str = "none") -> Supervised:
        """The label stage: of scratch and of finetuning alike."""
        epochs = self.value("label_epochs")
        return Supervised(
            self._optimiser("label"),
            epochs=epochs,
            batch=self.value("label_batch"),
            frozen=frozen,
            train_sample=self.value("train_sample"),
            evaluate_every=max(1, epochs // self.value("looks")),
        )

    def matched_labels(self) -> Supervised:
        """Labels alone for as many sequences as self-pretraining and finetuning together see."""
        return compute_matched(self.labels(), self.spt(), train_samples=1, unlabeled_samples=1)

    def _optimiser(self, stage: str) -> Optimiser:
        return Optimiser(
            learning_rate=self.value(f"{stage}_rate"),
            warmup_steps=self.value(f"{stage}_warmup"),
            weight_decay=self.value("decay"),
        )

    def rows(self) -> list[dict[str, str]]:
        """The choices as a table: name, value, source, what other sources say."""
        return [
            {
                "dataset": self.dataset,
                "name": name,
                "value": str(choice.value),
                "source": choice.source,
                "elsewhere": "; ".join(f"{where}: {value}" for where, value in choice.elsewhere.items()),
            }
            for name, choice in self.choices.items()
        ]

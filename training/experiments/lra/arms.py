"""The arms of the ablations: how each condition of a table becomes a run.

All arms of a seed share initial weights, order and masks, and arms that several tables have are one run: a
configuration is carried out once.  An arm of a data set is named ``"<dataset> <arm>"`` in the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from training.experiments.experiment import LabeledRun
from training.recipes.recipe import Recipe
from training.stages import RunConfig, finetune

#: What a finetuned arm inherits from self-pretraining (Tables 3, 4 and 9), by its name.
INHERITED = {
    "spt-finetune": "all",
    "qk": "qk",
    "all-but-qk": "all-but-qk",
    "attention": "attention",
    "attention+norms": "attention+norms",
    "attention+encoder": "attention+encoder",
    "attention+norms+encoder": "attention+norms+encoder",
    "attention+encoder+norms": "attention+norms+encoder",
    "attention+mlp": "attention+mlp",
    "attention+mlp+norms": "attention+mlp+norms",
    "mlp+norms+encoder": "mlp+norms+encoder",
    "qk+norms": "qk+norms",
    "qk+encoder+norms": "qk+norms+encoder",
    "encoder+attention+mlp": "attention+mlp+encoder",
}
#: Attention written without training (Table 4, ours).
WRITTEN = ("mimetic", "predicted", "predicted-masked")
#: What labels alone leave at random (Table 2); encoder, norms and read-out always train.
FROZEN = {"attention-frozen": "attention", "attention-mlp-frozen": "attention+mlp"}


@dataclass(frozen=True)
class Arms:
    """The arms of one recipe and one seed."""

    recipe: Recipe
    seed: int
    initial: dict[str, Any] | None = None
    """Changes to the initial weights (scheme)."""

    def spt(self, epochs: int | None = None) -> RunConfig:
        """Self-pretraining."""
        start = self.recipe.initial(**(self.initial or {}))
        return RunConfig(self.recipe.task, self.recipe.model(), start, self.recipe.spt(epochs), self.seed)

    def run(self, arm: str) -> RunConfig:
        """The last run of an arm's chain."""
        spt = self.spt()
        scratch = replace(spt, stage=self.recipe.labels())
        if arm == "scratch":
            return scratch
        if arm == "scratch-matched":
            return replace(spt, stage=self.recipe.matched_labels())
        if arm in FROZEN:
            return replace(spt, stage=self.recipe.labels(FROZEN[arm]))
        if arm in WRITTEN:
            return replace(scratch, initial=replace(scratch.initial, written=arm))
        return finetune(spt, self.recipe.labels(), INHERITED[arm])


def labeled(
    recipe: Recipe, arms: Iterable[str], *, prefix: str = "", scheme: str | None = None
) -> Iterator[LabeledRun]:
    """Every arm at every seed of a recipe, seed by seed; another ``scheme`` of initial weights is named in the arm."""
    suffix = "" if scheme is None else f" {scheme}"
    initial = None if scheme is None else {"scheme": scheme}
    for seed in recipe.seeds:
        for arm in arms:
            config = Arms(recipe, seed, initial).run(arm)
            name = f"{recipe.dataset} {prefix}{arm}{suffix}"
            yield LabeledRun(name, recipe.value("label_rate"), seed, config)

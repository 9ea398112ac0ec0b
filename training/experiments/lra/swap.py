"""Self-pretraining on another data set (Table 8): the network's shape is the target's, the reconstruction the source's.

Both sets are pixels of one channel in [-1, 1] or so, with sinusoidal positions; what does not fit (the reconstruction
head of Image has one output, that of PathFinder 256) is not inherited, nor is it read by labels.
"""

from __future__ import annotations

from dataclasses import replace

from training.recipes.recipe import Recipe
from training.stages import RunConfig, finetune

#: Everything that both networks have.
SHARED = "encoder+attention+mlp+norms"


def swapped(target: Recipe, source: Recipe, seed: int) -> RunConfig:
    """Labels of ``target`` after self-pretraining on ``source`` with the target's network and the source's recipe."""
    head = {name: source.task.model_shape().get(name, 0) for name in ("target_classes",)}
    pretraining = RunConfig(source.task, target.model(**head), target.initial(), source.spt(), seed)
    link = finetune(pretraining, target.labels(), SHARED)
    return replace(link, task=target.task, model=target.model())

"""The training loop of one stage: order, step, evaluation, divergence, resumption.

Everything random is a function of seed and counter, so a loop that starts from a saved state at any step ends with the
same bits as one that was never stopped.  A loss that is not finite stops the loop: the step is named and the parameters
go back to the last good ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from training.checkpoints import TrainingState
from training.data.buckets import bucketed_batches
from training.data.sequences import Batch, SequenceSet, TaskData
from training.distributed import ALONE, Machine
from training.evaluation import Row, evaluate_labels, evaluate_reconstruction
from training.masking import draw_mask, masked_loss
from training.model.groups import select
from training.model.network import SequenceModel
from training.randomness import generator
from training.stages import Optimiser, Pretrain, RunConfig, batches_per_epoch


@dataclass(frozen=True)
class Hooks:
    """What a loop calls; none of it changes what is computed."""

    after_step: Callable[[TrainingState], None] = lambda state: None
    """After every step (checkpoints, progress)."""
    keep: Callable[[int], None] = lambda epoch: None
    """At the epochs whose parameters are to be kept."""
    keep_step: Callable[[int], None] = lambda step: None
    """After the steps whose parameters are to be kept."""


def supervised_loss(
    model: SequenceModel, batch: Batch, score_bias: Float[Tensor, "layers heads keys keys"] | None = None
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the labels."""
    assert batch.labels is not None
    return F.cross_entropy(model.classify(batch.tokens, batch.lengths, score_bias), batch.labels)


def stage_loss(
    config: RunConfig, model: SequenceModel, batch: Batch, step: int, machine: Machine = ALONE
) -> Float[Tensor, ""]:
    """This process's part of the loss of one step, masks drawn for that step; the parts sum to the whole loss."""
    stage = config.stage
    rows, weight = machine.share(len(batch.lengths))
    mine = machine.place(batch, rows)
    if not isinstance(stage, Pretrain):
        with machine.autocast():
            return weight * supervised_loss(model, mine)
    random = generator(config.seed, "mask", step)
    masked = draw_mask(batch.tokens.shape[1], batch.lengths, stage.mask_ratio, random)
    expected = stage.mask_ratio * int(batch.lengths.sum())
    count = expected if stage.normaliser == "expected" else float(max(int(masked.sum()), 1))
    masked = masked[rows] if weight else torch.zeros_like(masked[rows])
    with machine.autocast():
        return masked_loss(model, mine, masked.to(machine.device), stage.loss, count)


def training_set(config: RunConfig, data: TaskData) -> SequenceSet:
    """What a stage trains on."""
    return data.unlabeled if isinstance(config.stage, Pretrain) else data.train


def total_steps(config: RunConfig, samples: int) -> int:
    """Steps of the whole stage."""
    return config.stage.epochs * batches_per_epoch(samples, config.stage.batch)


def make_optimiser(model: SequenceModel, settings: Optimiser, frozen: str) -> torch.optim.AdamW:
    """AdamW over all parameters that move; the frozen ones stop taking gradients."""
    still = set(select([name for name, _ in model.named_parameters()], frozen))
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in still)
    return torch.optim.AdamW(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        weight_decay=settings.weight_decay,
        fused=True,
    )


def learning_rate(settings: Optimiser, step: int) -> float:
    """Linear warm-up, then constant.

    >>> [learning_rate(Optimiser(learning_rate=1.0, warmup_steps=4), step) for step in (0, 3, 9)]
    [0.25, 1.0, 1.0]
    """
    return settings.learning_rate * min(1.0, (step + 1) / max(settings.warmup_steps, 1))


def train(
    config: RunConfig,
    data: TaskData,
    model: SequenceModel,
    optimiser: torch.optim.Optimizer,
    state: TrainingState,
    hooks: Hooks,
    machine: Machine = ALONE,
) -> int | None:
    """Train from ``state`` to the end of the stage, in place; returns the step at which the loss diverged, or None."""
    stage, samples = config.stage, training_set(config, data)
    steps = batches_per_epoch(len(samples), stage.batch)
    started, started_cpu = time.perf_counter(), time.process_time()
    before, before_cpu = state.wall_seconds, state.cpu_seconds

    def clock() -> None:
        state.wall_seconds = before + time.perf_counter() - started
        state.cpu_seconds = before_cpu + time.process_time() - started_cpu

    if not state.rows:
        state.rows.append(_evaluate(config, data, model, 0, state, steps, machine))
        if 0 in stage.keep_epochs:
            hooks.keep(0)
    for epoch in range(state.step // steps, stage.epochs):
        done = state.step - epoch * steps
        if done == 0 and _finite(model):
            state.good = {name: value.detach().clone() for name, value in model.named_parameters()}
        for batch in _batches(samples, config.seed, epoch, steps, skip=done):
            if not _one_step(config, model, optimiser, batch, state, machine):
                _restore(model, state.good)
                clock()
                return state.step
            clock()
            if state.step in stage.keep_steps:
                hooks.keep_step(state.step)
            if state.step < (epoch + 1) * steps:
                hooks.after_step(state)
        if (epoch + 1) % stage.evaluate_every == 0 or epoch + 1 == stage.epochs:
            state.rows.append(_evaluate(config, data, model, epoch + 1, state, steps, machine))
        if epoch + 1 in stage.keep_epochs:
            hooks.keep(epoch + 1)
        clock()
        hooks.after_step(state)
    if not _finite(model):
        _restore(model, state.good)
        return state.step
    return None


def _one_step(
    config: RunConfig,
    model: SequenceModel,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    state: TrainingState,
    machine: Machine,
) -> bool:
    """One optimiser step; False where the loss is not finite."""
    loss = stage_loss(config, model, batch, state.step, machine)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    value = machine.sum_step(model, loss)
    if not math.isfinite(value):
        return False
    for group in optimiser.param_groups:
        group["lr"] = learning_rate(config.stage.optimiser, state.step)
    optimiser.step()
    state.losses.append(value)
    state.step += 1
    return True


def _batches(samples: SequenceSet, seed: int, epoch: int, steps: int, skip: int) -> Iterator[Batch]:
    """The batches of an epoch: sequences of like length together where lengths differ, else in random order."""
    if bool((samples.lengths != samples.lengths.flatten()[0]).any()):
        batches = bucketed_batches(samples.lengths, steps, seed, epoch)
    else:
        order: Int[Tensor, " samples"] = torch.randperm(len(samples), generator=generator(seed, "order", epoch))
        batches = list(order.tensor_split(steps))
    for index in batches[skip:]:
        yield samples.batch(index)


def _evaluate(
    config: RunConfig,
    data: TaskData,
    model: SequenceModel,
    epoch: int,
    state: TrainingState,
    steps: int,
    machine: Machine,
) -> Row:
    """One row of curves; ``step_loss`` is the mean training loss over the steps of the epoch just done."""
    stage = config.stage
    recent = state.losses[-steps:] if epoch else []
    row: Row = {"epoch": epoch, "step": state.step, "step_loss": sum(recent) / len(recent) if recent else None}
    if isinstance(stage, Pretrain):
        row["validation_loss"] = evaluate_reconstruction(
            model, data.validation.unlabeled(), stage.mask_ratio, stage.loss, config.seed, machine
        )
        return row
    train = data.train if len(data.train) <= stage.train_sample else data.train.subset(stage.train_sample)
    for name, split in (("train", train), ("validation", data.validation), ("test", data.test)):
        row[f"{name}_loss"], row[f"{name}_accuracy"] = evaluate_labels(model, split, machine)
    return row


def _finite(model: SequenceModel) -> bool:
    return all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def _restore(model: SequenceModel, parameters: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in parameters:
                parameter.copy_(parameters[name])

"""Figures 4 and 11: the toy task over a grid of learning rates, from labels alone and after self-pretraining.

Scratch: 20 epochs of labels.  SPT: 10 epochs of masked reconstruction on the unlabeled sequences, then the same 20
epochs.  One SPT run a seed serves every finetuning rate.
"""

from __future__ import annotations

from dataclasses import dataclass

from training.config import configuration, setting
from training.data.trajectory import TrajectoryTask
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.model.config import ModelConfig
from training.model.initialisation import InitialWeights
from training.stages import Optimiser, Pretrain, RunConfig, Supervised, batches_per_epoch, finetune

_TRIAL = "ours: the setting of the design trial (toy.md); the paper does not state it"


@configuration
@dataclass(frozen=True)
class ToyFig4:
    """The choices of the experiment; the defaults are its paper scale."""

    seeds: int = setting(10, "paper, Figure 4")
    """Seeds 0 .. seeds - 1; each draws its own data, weights and order."""
    rates: tuple[float, ...] = setting(
        (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1), "ours: spans Figure 4's axis as far as its text tells"
    )
    """Learning rates of the label stage."""
    label_epochs: int = setting(20, "paper, section 4.1")
    """Epochs on labels."""
    spt_epochs: int = setting(10, "paper, section 4.1")
    """Epochs of self-pretraining."""
    spt_rate: float = setting(3e-3, _TRIAL)
    """Learning rate of self-pretraining."""
    mask_ratio: float = setting(0.5, "code: 50 % for continuous tokens; the paper does not state it")
    """Masking ratio of self-pretraining."""
    unlabeled: int = setting(12_000, "paper, section 4")
    """Sequences for self-pretraining."""
    scale: float = setting(0.2, _TRIAL)
    """Factor on all initial weights."""
    batch: int = setting(33, _TRIAL)
    """Sequences a step."""


PRESETS: dict[Scale, ToyFig4] = {
    "smoke": ToyFig4(seeds=2, rates=(3e-3, 1e-2), spt_epochs=6, unlabeled=2000),
    "laptop": ToyFig4(seeds=6, rates=(3e-4, 1e-3, 3e-3, 1e-2, 3e-2)),
    "paper": ToyFig4(),
}


#: Steps of self-pretraining after which the parameters are kept for probes.
KEPT_STEPS = (1, 3, 10, 30, 60, 120, 240, 600, 1200, 2400)


def pretraining(choices: ToyFig4, seed: int, *, keep: bool = True) -> RunConfig:
    """The self-pretraining of one seed; ``keep`` its parameters at some steps for probes."""
    last = choices.spt_epochs * batches_per_epoch(choices.unlabeled, choices.batch)
    return RunConfig(
        task=TrajectoryTask(seed=seed, unlabeled=choices.unlabeled),
        model=ModelConfig(),
        initial=InitialWeights(scale=choices.scale),
        stage=Pretrain(
            optimiser=Optimiser(learning_rate=choices.spt_rate),
            epochs=choices.spt_epochs,
            batch=choices.batch,
            mask_ratio=choices.mask_ratio,
            keep_steps=tuple(step for step in KEPT_STEPS if step < last) if keep else (),
        ),
        seed=seed,
    )


def labels(choices: ToyFig4, rate: float) -> Supervised:
    """The label stage at one rate."""
    return Supervised(optimiser=Optimiser(learning_rate=rate), epochs=choices.label_epochs, batch=choices.batch)


def runs(scale: Scale) -> list[LabeledRun]:
    """Both conditions at every rate and seed."""
    choices = PRESETS[scale]
    listed = []
    for seed in range(choices.seeds):
        spt = pretraining(choices, seed)
        for rate in choices.rates:
            stage = labels(choices, rate)
            scratch = RunConfig(spt.task, spt.model, spt.initial, stage, seed)
            listed.append(LabeledRun("scratch", rate, seed, scratch))
            listed.append(LabeledRun("spt-finetune", rate, seed, finetune(spt, stage)))
    return listed


TOY_FIG4 = Experiment(
    name="toy-fig4",
    title="toy task: accuracy over learning rates, labels alone against self-pretraining first",
    place="Figures 4 and 11",
    runs=runs,
    costs={"smoke": "20 s", "laptop": "2 min", "paper": "5 min"},
)

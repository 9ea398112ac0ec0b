"""Which part of self-pretraining carries its gain?  Table 4 on the toy task, with initialisations that train nothing.

Inherited after self-pretraining: everything, query and key alone, everything else alone.  Written instead of trained:
mimetic attention, and the pattern that Q3 predicts from the second moment of the unlabeled data (with and without
mask).  ``scratch-matched`` is trained on labels for as many updates as self-pretraining and finetuning together.
"""

from __future__ import annotations

from dataclasses import replace

from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.toy_fig4 import PRESETS, ToyFig4, labels, pretraining
from training.stages import RunConfig, Supervised, batches_per_epoch, finetune

RATES: dict[Scale, tuple[float, ...]] = {
    "smoke": (3e-3,),
    "laptop": (1e-3, 3e-3, 1e-2),
    "paper": (1e-3, 3e-3, 1e-2),
}
#: The intermediate rate: scratch learns within 20 epochs, and its query and key move.
MATCHED_RATE: dict[Scale, float] = {"smoke": 3e-3, "laptop": 3e-3, "paper": 3e-3}
INHERITED = {"spt-finetune": "all", "qk-only": "qk", "all-but-qk": "all-but-qk"}
WRITTEN = {"mimetic": "mimetic", "predicted": "predicted", "predicted-masked": "predicted-masked"}


def matched(choices: ToyFig4, rate: float, train: int = 100) -> Supervised:
    """Labels for as many updates as self-pretraining and finetuning together (rounded up to whole epochs)."""
    stage = labels(choices, rate)
    per_epoch = batches_per_epoch(train, choices.batch)
    before = choices.spt_epochs * batches_per_epoch(choices.unlabeled, choices.batch)
    epochs = choices.label_epochs + -(-before // per_epoch)
    return replace(stage, epochs=epochs, evaluate_every=max(1, epochs // choices.label_epochs))


def scratch(spt: RunConfig, stage: Supervised) -> RunConfig:
    """Labels from the same initial weights, without self-pretraining."""
    return RunConfig(spt.task, spt.model, spt.initial, stage, spt.seed)


def runs(scale: Scale) -> list[LabeledRun]:
    """Every condition at every rate and seed."""
    choices, listed = PRESETS[scale], []
    for seed in range(choices.seeds):
        spt = pretraining(choices, seed)
        for rate in RATES[scale]:
            stage = labels(choices, rate)
            start = scratch(spt, stage)
            found = {"scratch": start}
            found |= {name: finetune(spt, stage, inherit=group) for name, group in INHERITED.items()}
            for name, written in WRITTEN.items():
                found[name] = replace(start, initial=replace(start.initial, written=written))
            listed += [LabeledRun(name, rate, seed, run) for name, run in found.items()]
        rate = MATCHED_RATE[scale]
        listed.append(LabeledRun("scratch-matched", rate, seed, scratch(spt, matched(choices, rate, spt.task.train))))
    return listed


TOY_PARTS = Experiment(
    name="toy-parts",
    title="toy task: parts of self-pretraining, attention written without training, equal updates",
    place="Table 4, on the toy task",
    runs=runs,
    costs={"smoke": "15 s", "laptop": "3 min", "paper": "6 min"},
    keeps_curves=False,
)

"""Figure 13: Figure 4 at another epoch budget.

The paper's text says "a different epoch budget" and no more; twice the epochs on labels is our choice.  The
self-pretraining runs are those of Figure 4.
"""

from __future__ import annotations

from dataclasses import replace

from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.toy_fig4 import PRESETS, labels, pretraining
from training.experiments.toy_parts import scratch
from training.stages import finetune

#: Epochs on labels relative to Figure 4; evaluated as many times as there.
FACTOR = 2
RATES: dict[Scale, tuple[float, ...]] = {
    "smoke": (3e-3,),
    "laptop": (1e-3, 3e-3, 1e-2),
    "paper": (3e-4, 1e-3, 3e-3, 1e-2),
}


def runs(scale: Scale) -> list[LabeledRun]:
    """Both conditions at every rate and seed."""
    choices, listed = PRESETS[scale], []
    for seed in range(choices.seeds):
        spt = pretraining(choices, seed)
        for rate in RATES[scale]:
            stage = replace(labels(choices, rate), epochs=FACTOR * choices.label_epochs, evaluate_every=FACTOR)
            listed.append(LabeledRun("scratch", rate, seed, scratch(spt, stage)))
            listed.append(LabeledRun("spt-finetune", rate, seed, finetune(spt, stage)))
    return listed


TOY_FIG13 = Experiment(
    name="toy-fig13",
    title="toy task: accuracy over learning rates with twice the epochs on labels",
    place="Figure 13",
    runs=runs,
    costs={"smoke": "10 s", "laptop": "2 min", "paper": "3 min"},
)

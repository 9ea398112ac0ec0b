"""Figure 5: training losses over steps, and attention on one input at initialisation and after training.

As in section 4.1, the runs are those of the learning rate that maximises the gap in training loss (found on the runs of
Figure 4, written to rate.csv).

losses.csv     stage (spt, scratch, spt-finetune), step, mean, least, greatest over seeds; spt in means of 20 steps
attention.npz  float16 L x L: initial, spt, finetuned, scratch; ``-one``: seed 0 on its first test input, ``-mean``:
               mean over seeds, each on its first test input
attention.csv  state, seed, mean_distance, mass_near (within 5 positions), entropy on 64 test inputs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars
import torch

from training.execute import load_data
from training.experiments import toy_fig4
from training.experiments.comparisons import difference
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.record import csv_bytes, npz_bytes, runs_table
from training.experiments.toy_fig4 import PRESETS, pretraining
from training.model.initialisation import initialised_model
from training.model.network import SequenceModel
from training.probes.network import attention_measures, data_maps
from training.records import RunRecord

#: Steps of self-pretraining that one point of its loss curve averages.
BLOCK = 20
INPUTS = 64


def runs(scale: Scale) -> list[LabeledRun]:
    """The runs of Figure 4 and the self-pretraining runs themselves."""
    choices = PRESETS[scale]
    spt = [LabeledRun("spt", choices.spt_rate, seed, pretraining(choices, seed)) for seed in range(choices.seeds)]
    return [*spt, *toy_fig4.runs(scale)]


def gap_rate(runs: polars.DataFrame) -> tuple[float, dict[float, float]]:
    """The rate that maximises the mean gap in final training loss, scratch minus self-pretrained, and all gaps."""
    gaps: dict[float, float] = {}
    for (rate,), rows in runs.filter(polars.col("condition") != "spt").group_by("learning_rate", maintain_order=True):
        of = {
            condition: dict(rows.filter(polars.col("condition") == condition)["seed", "final_train_loss"].iter_rows())
            for condition in ("scratch", "spt-finetune")
        }
        found = difference(of["scratch"], of["spt-finetune"])
        gaps[float(rate)] = sum(found.values()) / len(found)
    return max(gaps, key=lambda rate: gaps[rate]), gaps


def initial_model(record: RunRecord) -> SequenceModel:
    """The network of a run before anything was trained or inherited."""
    config = record.config
    return initialised_model(config.model, replace(config.initial, written="none"), config.seed)


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """Losses, attention matrices and their measures at the rate of the greatest gap."""
    rate, gaps = gap_rate(runs_table(labeled, records))
    found = {
        (run.condition, run.seed): record
        for run, record in zip(labeled, records, strict=True)
        if run.condition == "spt" or run.learning_rate == rate
    }
    seeds = sorted({seed for _, seed in found})
    single: dict[str, list[np.ndarray]] = {}
    measures = []
    for seed in seeds:
        spt = found["spt", seed]
        states = {
            "initial": initial_model(spt),
            "spt": spt.model(),
            "finetuned": found["spt-finetune", seed].model(),
            "scratch": found["scratch", seed].model(),
        }
        inputs = load_data(spt.config.task).test.subset(INPUTS)
        for state, model in states.items():
            weights = data_maps(model, inputs)[1]
            single.setdefault(state, []).append(weights[0, 0].numpy())
            measures.append({"state": state, "seed": seed} | attention_measures(weights))
    arrays = {}
    for state, matrices in single.items():
        arrays[f"{state}-one"] = matrices[0].astype(np.float16)
        arrays[f"{state}-mean"] = np.mean(matrices, 0).astype(np.float16)
    curves = [
        _curve(stage, [found[stage, seed] for seed in seeds], BLOCK if stage == "spt" else 1)
        for stage in ("spt", "scratch", "spt-finetune")
    ]
    rates = [{"learning_rate": one, "gap": gap, "chosen": one == rate} for one, gap in gaps.items()]
    return {
        "attention.npz": npz_bytes(arrays),
        "attention.csv": csv_bytes(polars.DataFrame(measures)),
        "losses.csv": csv_bytes(polars.concat(curves)),
        "rate.csv": csv_bytes(polars.DataFrame(rates)),
    }


def _curve(stage: str, records: list[RunRecord], block: int) -> polars.DataFrame:
    losses = torch.stack([torch.tensor(record.steps()["loss"].to_list()) for record in records])
    parts = losses.split(block, dim=1)
    means = torch.stack([part.mean(1) for part in parts], 1).double()
    steps = [block * number + (part.shape[1] + 1) / 2 for number, part in enumerate(parts)]
    return polars.DataFrame(
        {
            "stage": [stage] * len(parts),
            "step": [float(step) for step in steps],
            "mean": means.mean(0).tolist(),
            "least": means.amin(0).tolist(),
            "greatest": means.amax(0).tolist(),
        }
    )


TOY_FIG5 = Experiment(
    name="toy-fig5",
    title="toy task: losses over steps and attention on an input, before and after training",
    place="Figure 5",
    runs=runs,
    costs=toy_fig4.TOY_FIG4.costs,
    shown=("final_train_loss", "final_validation_loss"),
    tables=tables,
    keeps_curves=False,
)

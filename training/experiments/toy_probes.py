"""What labels and self-pretraining move in the scores, held against the theory (G8, N2, Q3) and its controls.

probes.csv  condition, learning_rate, seed, step, then
    positions_*, data_*       mean_distance, mass_near (within 5), entropy of attention: content zero / 64 test inputs
    size, blind_size          Frobenius norm of the row-centred (doubly centred) displacement of the positional scores
    blind_energy, stripe_fraction   shares of that displacement's energy (G3, N2); data_*: of the scores on the inputs
    align_NAME                double-centred cosine of the displacement with each pattern of training.probes.predicted
    scores_align_NAME         the same of the scores themselves, displacement or not
weights.csv  pair (R>SPT, R>SC, SPT>FT, R>FT, SC>FT), learning_rate, seed, layer, component, displacement, norms, ranks

Conditions: ``spt`` (at kept steps; displacement from random weights), ``spt-tied`` (one epoch from tied weights),
``scratch`` and ``scratch-matched`` (from random weights), ``spt-finetune`` (displacement from the self-pretrained
weights), ``random`` (step 0: W_Q and W_K moved in random directions; a control for the geometry of positions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars
from jaxtyping import Float
from torch import Tensor

from training.data.sequences import SequenceSet
from training.execute import load_data
from training.experiments.displacement import label_pairs, pretraining_pair
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.record import csv_bytes
from training.experiments.toy_fig4 import PRESETS, ToyFig4, labels, pretraining
from training.experiments.toy_fig5 import initial_model
from training.experiments.toy_parts import MATCHED_RATE, RATES, matched, scratch
from training.model.network import SequenceModel
from training.probes.network import (
    attention_measures,
    data_maps,
    displacement_measures,
    positional_maps,
    random_displacement,
)
from training.probes.patterns import alignment
from training.probes.predicted import predicted_patterns
from training.randomness import generator
from training.records import RunRecord
from training.stages import RunConfig, finetune

INPUTS = 64


def tied_pretraining(choices: ToyFig4, seed: int) -> RunConfig:
    """One epoch of self-pretraining from W_Q = W_K = W_V = W_O."""
    spt = pretraining(replace(choices, spt_epochs=1), seed)
    return replace(spt, initial=replace(spt.initial, scheme="tied"))


def runs(scale: Scale) -> list[LabeledRun]:
    """All conditions, seed by seed, self-pretraining first."""
    choices, listed = PRESETS[scale], []
    for seed in range(choices.seeds):
        spt = pretraining(choices, seed)
        listed.append(LabeledRun("spt", choices.spt_rate, seed, spt))
        listed.append(LabeledRun("spt-tied", choices.spt_rate, seed, tied_pretraining(choices, seed)))
        for rate in RATES[scale]:
            stage = labels(choices, rate)
            listed.append(LabeledRun("scratch", rate, seed, scratch(spt, stage)))
            listed.append(LabeledRun("spt-finetune", rate, seed, finetune(spt, stage)))
        rate = MATCHED_RATE[scale]
        listed.append(LabeledRun("scratch-matched", rate, seed, scratch(spt, matched(choices, rate, spt.task.train))))
    return listed


@dataclass(frozen=True)
class _Ruler:
    """What the networks of one seed are measured with."""

    inputs: SequenceSet
    patterns: dict[str, Float[Tensor, "tokens tokens"]]
    length: int

    def row(self, start: SequenceModel, end: SequenceModel) -> dict[str, float]:
        """All measures of ``end``, displacements from ``start``."""
        scores, attention = positional_maps(end, self.length)
        moved = scores - positional_maps(start, self.length)[0]
        data_scores, data_attention = data_maps(end, self.inputs)
        data_moved = displacement_measures(data_scores - data_maps(start, self.inputs)[0])
        row = {f"positions_{name}": value for name, value in attention_measures(attention).items()}
        row |= {f"data_{name}": value for name, value in attention_measures(data_attention).items()}
        row |= displacement_measures(moved)
        row |= {f"data_{name}": value for name, value in data_moved.items()}
        row |= self.alignments(moved, "align")
        return row | self.alignments(scores, "scores_align")

    def alignments(self, maps: Float[Tensor, "heads tokens tokens"], prefix: str) -> dict[str, float]:
        """Alignment of the heads' mean with every pattern."""
        return {f"{prefix}_{name}": alignment(maps.mean(0), pattern) for name, pattern in self.patterns.items()}


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """probes.csv and weights.csv."""
    found = {(run.condition, run.learning_rate, run.seed): rec for run, rec in zip(labeled, records, strict=True)}
    probes: list[dict[str, Any]] = []
    weights: list[dict[str, Any]] = []
    for seed in sorted({run.seed for run in labeled}):
        of_seed = {(condition, rate): record for (condition, rate, s), record in found.items() if s == seed}
        probes += [row | {"seed": seed} for row in _probe_rows(of_seed, seed)]
        weights += [row | {"seed": seed} for row in _weight_rows(of_seed)]
    front = ["condition", "learning_rate", "seed", "step"]
    table = polars.DataFrame(probes, infer_schema_length=None)
    pairs = polars.DataFrame(weights, infer_schema_length=None)
    return {
        "probes.csv": csv_bytes(table.select(*front, polars.exclude(front))),
        "weights.csv": csv_bytes(
            pairs.select("pair", "learning_rate", "seed", polars.exclude("seed", "pair", "learning_rate"))
        ),
    }


def _probe_rows(of_seed: Mapping[tuple[str, float], RunRecord], seed: int) -> Iterator[dict[str, Any]]:
    first = next(iter(of_seed.values())).config
    data = load_data(first.task)
    ratio = getattr(first.stage, "mask_ratio", 0.5)
    ruler = _Ruler(
        data.test.subset(INPUTS), predicted_patterns(data.unlabeled, first.model.width, ratio, seed), first.task.length
    )
    for (condition, rate), record in of_seed.items():
        labels = {"condition": condition, "learning_rate": rate}
        start = initial_model(record)
        if condition in ("spt", "spt-tied"):
            yield labels | {"step": 0} | ruler.row(start, start)
            for step in record.config.stage.keep_steps:
                yield labels | {"step": step} | ruler.row(start, record.model(step=step))
        if condition == "spt":
            random = generator(seed, "random displacement")
            moved = random_displacement(start, ruler.length, random)
            measures = displacement_measures(moved) | ruler.alignments(moved, "align")
            yield {"condition": "random", "learning_rate": rate, "step": 0} | measures
        if condition == "spt-finetune":
            start = next(r for (name, _), r in of_seed.items() if name == "spt").model()
        yield labels | {"step": int(record.content["cost"]["steps"])} | ruler.row(start, record.model())


def _weight_rows(of_seed: Mapping[tuple[str, float], RunRecord]) -> Iterator[dict[str, Any]]:
    spt = next(record for (condition, _), record in of_seed.items() if condition == "spt")
    spt_rate = next(rate for condition, rate in of_seed if condition == "spt")
    for pair, row in pretraining_pair(spt):
        yield {"pair": pair, "learning_rate": spt_rate} | row
    for (condition, rate), record in of_seed.items():
        if condition == "spt-finetune":
            for pair, row in label_pairs(spt, of_seed["scratch", rate], record):
                yield {"pair": pair, "learning_rate": rate} | row


TOY_PROBES = Experiment(
    name="toy-probes",
    title="toy task: what labels and self-pretraining move in the scores, against the theory",
    place="Section 5 and Figures 5, 6; Tables 10 and 11 on the toy task",
    runs=runs,
    costs={"smoke": "15 s", "laptop": "3 min", "paper": "4 min"},
    shown=("final_test_accuracy", "final_validation_loss"),
    tables=tables,
    keeps_curves=False,
)

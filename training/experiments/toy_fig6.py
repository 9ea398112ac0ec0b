"""Figures 6 and 12: positions through the attention block before and after self-pretraining, and weight histograms.

components.npz  float16, states initial and spt: ``STATE-query``, ``-key`` (weights), ``-product`` (W_Q^T W_K),
                ``-scores``, ``-attention`` (content zero) of seed 0; ``-scores-mean``, ``-attention-mean`` over seeds;
                ``positions`` (P)
histograms.csv  state, matrix (query, key, product), low, high (bin), count over all seeds
moments.csv     state, matrix, seed, mean, deviation, excess_kurtosis of the entries; stable_rank of the matrix
attention.csv   state, seed, mean_distance, mass_near (within 5 positions), entropy of the positional attention
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars
import torch
from jaxtyping import Float
from scipy import stats
from torch import Tensor

from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.record import csv_bytes, npz_bytes
from training.experiments.toy_fig4 import PRESETS, pretraining
from training.experiments.toy_fig5 import initial_model
from training.model.network import SequenceModel
from training.probes.network import attention_measures, positional_maps
from training.probes.patterns import stable_rank
from training.records import RunRecord

BINS = 41


def runs(scale: Scale) -> list[LabeledRun]:
    """The self-pretraining run of every seed."""
    choices = PRESETS[scale]
    return [LabeledRun("spt", choices.spt_rate, seed, pretraining(choices, seed)) for seed in range(choices.seeds)]


def matrices(model: SequenceModel) -> dict[str, Float[Tensor, "rows columns"]]:
    """W_Q, W_K and W_Q^T W_K of the first block, in float64."""
    attention = model.layer(0).attention
    query, key = attention.query.weight.detach().double(), attention.key.weight.detach().double()
    return {"query": query, "key": key, "product": query.T @ key}


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """Components, histograms, moments and measures of positional attention."""
    arrays: dict[str, np.ndarray] = {}
    entries: dict[tuple[str, str], list[Tensor]] = {}
    maps: dict[str, list[Tensor]] = {}
    moments, measures = [], []
    for run, record in zip(labeled, records, strict=True):
        length = record.config.task.length
        for state, model in (("initial", initial_model(record)), ("spt", record.model())):
            scores, attention = positional_maps(model, length)
            maps.setdefault(f"{state}-scores", []).append(scores[0])
            maps.setdefault(f"{state}-attention", []).append(attention[0])
            measures.append({"state": state, "seed": run.seed} | attention_measures(attention))
            for name, matrix in matrices(model).items():
                entries.setdefault((state, name), []).append(matrix.flatten())
                moments.append({"state": state, "matrix": name, "seed": run.seed} | _moments(matrix))
                if not run.seed:
                    arrays[f"{state}-{name}"] = matrix.numpy().astype(np.float16)
                    arrays["positions"] = model.embedding.places(length)[0].numpy().astype(np.float16)
    for name, found in maps.items():
        arrays[name] = found[0].numpy().astype(np.float16)
        arrays[f"{name}-mean"] = torch.stack(found).mean(0).numpy().astype(np.float16)
    return {
        "components.npz": npz_bytes(arrays),
        "histograms.csv": csv_bytes(_histograms({key: torch.cat(values) for key, values in entries.items()})),
        "moments.csv": csv_bytes(polars.DataFrame(moments)),
        "attention.csv": csv_bytes(polars.DataFrame(measures)),
    }


def _moments(matrix: Float[Tensor, "rows columns"]) -> dict[str, float]:
    values = matrix.flatten().numpy()
    return {
        "mean": float(values.mean()),
        "deviation": float(values.std()),
        "excess_kurtosis": float(stats.kurtosis(values)),
        "stable_rank": stable_rank(matrix),
    }


def _histograms(entries: dict[tuple[str, str], Tensor]) -> polars.DataFrame:
    """Both states of a matrix in the same bins."""
    rows = []
    for name in ("query", "key", "product"):
        reach = max(float(values.abs().max()) for (_, matrix), values in entries.items() if matrix == name)
        for (state, matrix), values in entries.items():
            if matrix == name:
                counts, edges = np.histogram(values.numpy(), bins=BINS, range=(-reach, reach))
                rows += [
                    {"state": state, "matrix": name, "low": low, "high": high, "count": int(count)}
                    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
                ]
    return polars.DataFrame(rows)


TOY_FIG6 = Experiment(
    name="toy-fig6",
    title="toy task: positions through the attention block, and weight histograms",
    place="Figures 6 and 12",
    runs=runs,
    costs={"smoke": "5 s", "laptop": "1 min", "paper": "2 min"},
    shown=("final_validation_loss",),
    tables=tables,
)

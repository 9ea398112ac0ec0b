"""Probes of a network: positional scores (Figure 6), attention on data (Figure 5), and what training has moved.

All measures are of one layer, in float64, averaged over its heads; the toy network has one of each.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from training.data.sequences import SequenceSet
from training.model.groups import group_of
from training.model.network import SequenceModel
from training.probes.patterns import (
    centre_rows,
    centre_twice,
    entropy,
    mass_within,
    mean_distance,
    stable_rank,
)

#: Keys at most this far from the query count as near.
NEAR = 5

Maps = Float[Tensor, "heads tokens tokens"]


@torch.no_grad()
def positional_maps(model: SequenceModel, token_count: int, layer: int = 0) -> tuple[Maps, Maps]:
    """Scores ``P W_Q^T W_K P^T / sqrt(depth)`` and their softmax with the content set to zero, as in Figure 6."""
    lengths = torch.tensor([token_count])
    scores, weights = model.attention_maps(model.embedding.places(token_count), lengths)[layer]
    return scores[0].double(), weights[0].double()


@torch.no_grad()
def data_maps(
    model: SequenceModel, data: SequenceSet, layer: int = 0
) -> tuple[Float[Tensor, "samples heads tokens tokens"], Float[Tensor, "samples heads tokens tokens"]]:
    """Scores and attention on sequences."""
    scores, weights = model.attention_maps(model.embedding(data.values(torch.arange(len(data)))), data.lengths)[layer]
    return scores.double(), weights.double()


def attention_measures(weights: Float[Tensor, "*maps tokens tokens"]) -> dict[str, float]:
    """Mean over maps of distance, mass near the query, and entropy."""
    maps = weights.flatten(0, -3)
    return {
        "mean_distance": sum(map(mean_distance, maps)) / len(maps),
        "mass_near": sum(mass_within(one, NEAR) for one in maps) / len(maps),
        "entropy": sum(map(entropy, maps)) / len(maps),
    }


def displacement_measures(displacement: Float[Tensor, "*maps tokens tokens"]) -> dict[str, float]:
    """Size (root mean over maps of squared Frobenius norms, row-centred), stripe fraction and blind energy of a change.

    Fractions are shares of the summed energy, so maps that hardly change hardly count.
    """
    stacked = displacement.flatten(0, -3)
    energy = [float(centre_rows(one).square().sum()) for one in stacked]
    blind = [float(centre_twice(one).square().sum()) for one in stacked]
    total = sum(energy)
    share = sum(blind) / total if total > 0 else float("nan")
    return {
        "size": (total / len(stacked)) ** 0.5,
        "blind_size": (sum(blind) / len(stacked)) ** 0.5,
        "blind_energy": share,
        "stripe_fraction": 1 - share,
    }


@torch.no_grad()
def weight_measures(start: SequenceModel, end: SequenceModel) -> list[dict[str, str | float]]:
    """Tables 10 and 11: Frobenius displacement and norms of every component, and stable ranks of its matrices.

    A row a parameter group of each layer (``encoder``, ``query`` ...); vectors have no stable rank.
    """
    before = dict(start.named_parameters())
    groups: dict[tuple[str, str], list[str]] = {}
    for name in before:
        layer = name.split(".")[1] if name.startswith("blocks.") else ""
        groups.setdefault((layer, group_of(name)), []).append(name)
    rows: list[dict[str, str | float]] = []
    for (layer, group), names in groups.items():
        old = [before[name].double() for name in names]
        new = [end.get_parameter(name).double() for name in names]
        moved = [b - a for a, b in zip(old, new, strict=True)]
        row: dict[str, str | float] = {"layer": layer, "component": group}
        row |= {"displacement": _norm(moved), "norm_start": _norm(old), "norm_end": _norm(new)}
        matrix = [place for place, value in enumerate(old) if value.ndim == 2]
        if matrix:
            row["stable_rank_start"] = stable_rank(old[matrix[0]])
            row["stable_rank_end"] = stable_rank(new[matrix[0]])
            row["stable_rank_moved"] = stable_rank(moved[matrix[0]])
        rows.append(row)
    return rows


def _norm(tensors: list[Tensor]) -> float:
    return float(sum(float(tensor.square().sum()) for tensor in tensors) ** 0.5)


@torch.no_grad()
def random_displacement(model: SequenceModel, token_count: int, random: torch.Generator) -> Maps:
    """Control: the first-order change of the positional scores when W_Q and W_K move in random Gaussian directions.

    It tells which share of a stripe fraction is the geometry of the positions rather than the objective.
    """
    block = model.layer(0)
    attention = block.attention
    places = block.attention_norm(model.embedding.places(token_count))[0].double()
    queries, keys = _mapped(attention.query, places), _mapped(attention.key, places)
    moves = torch.randn(2, *attention.query.weight.shape, generator=random, dtype=torch.float64)
    depth = queries.shape[1] // attention.heads
    change = []
    for head in range(attention.heads):
        rows = slice(head * depth, (head + 1) * depth)
        moved = places @ moves[0, rows].T @ keys[:, rows].T + queries[:, rows] @ moves[1, rows] @ places.T
        change.append(moved / math.sqrt(depth))
    return torch.stack(change)


def _mapped(linear: nn.Linear, places: Float[Tensor, "tokens width"]) -> Float[Tensor, "tokens width"]:
    return F.linear(places, linear.weight.double(), None if linear.bias is None else linear.bias.double())

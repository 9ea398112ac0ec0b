"""Attention written without training: mimetic (identity-like) and predicted from data by Q3.

Q3: with content c_i as values and targets and positions p_i (rows of P) in orthogonal coordinates, the first gradient
step of reconstruction adds to the query-key matrix M the position block ``(1/L^2) P^T J C J P`` (masked with ratio
rho: ``(1/L^2) P^T R J P``), so the positional scores become proportional to ``K C_bar K`` (``K R J K``), K = P P^T.
Here that M is computed from data, scaled to a chosen strength, and factored by its singular vectors into W_Q and W_K.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from numerics.errors import InputError
from training.data.sequences import SequenceSet
from training.model.network import SequenceModel
from training.model.positions import sinusoids
from training.randomness import generator


def second_moment(data: SequenceSet) -> Float[Tensor, "tokens tokens"]:
    """``C_ij = E[X_i . X_j]`` in float64 over sequences that hold both positions.

    Discrete tokens are taken as one-hot vectors, to which embedded ids are proportional on average.
    """
    count = data.tokens.shape[1]
    total = torch.zeros(count, count, dtype=torch.float64)
    pairs = torch.zeros(count, count, dtype=torch.float64)
    for index in torch.arange(len(data)).split(256):
        tokens, lengths = data.values(index), data.lengths[index]
        valid = (torch.arange(count) < lengths[:, None]).double()
        if tokens.ndim == 2:
            for row, length in zip(tokens, lengths.tolist(), strict=True):
                same = row[:length, None] == row[:length]
                total[:length, :length] += same
        else:
            values = (tokens.double() * valid[..., None]).permute(1, 0, 2).flatten(1)
            total += values @ values.T
        pairs += valid.T @ valid
    return total / pairs.clamp(min=1)


def masked_signal(moment: Float[Tensor, "tokens tokens"], mask_ratio: float) -> Float[Tensor, "tokens tokens"]:
    """R of Q3: ``R_ij = (1-rho) C_ij - (1/L)[(1-rho)^2 sum_{k not in {i,j}} C_kj + (1-rho) C_jj]``, zero diagonal."""
    count, kept = len(moment), 1 - mask_ratio
    diagonal = moment.diagonal()
    others = moment.sum(0)[None] - moment - diagonal[None]
    signal = kept * moment - (kept**2 * others + kept * diagonal[None]) / count
    return signal - torch.diag(signal.diagonal())


def predicted_matrix(
    moment: Float[Tensor, "tokens tokens"], places: Float[Tensor, "tokens width"], mask_ratio: float | None
) -> Float[Tensor, "width width"]:
    """The position block of minus the query-key gradient: ``P^T J C J P / L^2``, or with R where masked."""
    count = len(moment)
    if mask_ratio is None:
        centred = places - places.mean(0)
        return centred.T @ moment @ centred / count**2
    return places.T @ masked_signal(moment, mask_ratio) @ (places - places.mean(0)) / count**2


def predicted_query_key(model: SequenceModel, data: SequenceSet, *, strength: float, mask_ratio: float | None) -> None:
    """Write the predicted pattern into W_Q and W_K of every head of every layer, in place.

    The centred positional scores get standard deviation ``strength``.  A head of depth below the rank of the pattern
    gets its leading singular directions.  Query and key biases become 0.  With LayerNorm the positions are normalised
    first.
    """
    if "sinusoidal" not in model.config.positions:
        raise InputError(
            f"predicted attention needs additive positions: positions={model.config.positions}; use sinusoidal"
        )
    count, width = data.tokens.shape[1], model.config.width
    places = sinusoids(count, width, torch.empty(0, dtype=torch.float64))
    if model.config.normalise:
        places = F.layer_norm(places, (width,))
    matrix = predicted_matrix(second_moment(data), places, mask_ratio)
    scores = places @ matrix @ places.T
    deviation = (scores - scores.mean(1, keepdim=True)).std()
    if not deviation > 0:
        raise InputError("predicted attention needs varying tokens: the data give a zero pattern; use other data")
    left, singular, right = torch.linalg.svd(matrix * (strength / deviation))
    depth = width // model.config.heads
    root = (singular[:depth] * math.sqrt(depth)).sqrt()[:, None]
    for layer in range(model.config.layers):
        block = model.layer(layer)
        _write(block.attention.query, (root * left.T[:depth]).repeat(model.config.heads, 1))
        _write(block.attention.key, (root * right[:depth]).repeat(model.config.heads, 1))


def mimetic_attention(model: SequenceModel, seed: int, *, query_key: float = 0.7, value_output: float = 0.4) -> None:
    """``W_Q^T W_K ~ a (Z + I)`` for each head and ``W_O W_V ~ b (Z - I)``, in place (Trockman and Kolter 2023).

    Z has independent N(0, 1/d) entries; each product is factored by singular vectors, heads truncated to their depth.
    The form is theirs; the factors .7 and .4 are named here because their choice differs by data set.
    """
    width, heads = model.config.width, model.config.heads
    depth = width // heads
    identity = torch.eye(width)
    for layer in range(model.config.layers):
        block = model.layer(layer)
        queries, keys = [], []
        for head in range(heads):
            noise = torch.randn(width, width, generator=generator(seed, "mimetic", layer, head)) / math.sqrt(width)
            left, singular, right = torch.linalg.svd(query_key * (noise + identity))
            root = singular[:depth].sqrt()[:, None]
            queries.append(root * left.T[:depth])
            keys.append(root * right[:depth])
        _write(block.attention.query, torch.cat(queries))
        _write(block.attention.key, torch.cat(keys))
        noise = torch.randn(width, width, generator=generator(seed, "mimetic", layer, "value")) / math.sqrt(width)
        left, singular, right = torch.linalg.svd(value_output * (noise - identity))
        _write(block.attention.value, singular.sqrt()[:, None] * right)
        _write(block.attention.output, left * singular.sqrt())


def _write(linear: nn.Linear, weight: Float[Tensor, "outputs inputs"]) -> None:
    with torch.no_grad():
        linear.weight.copy_(weight)
        if linear.bias is not None:
            linear.bias.zero_()

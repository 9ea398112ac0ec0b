"""Positional schemes of Table 5: sinusoidal encodings, ALiBi, FIRE and RoPE.

Sinusoids are added to the token stream once; ALiBi and FIRE add a score bias; RoPE turns queries and keys.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def sinusoids(token_count: int, width: int, like: Tensor) -> Float[Tensor, "tokens width"]:
    """``PE[p, 2i] = sin(p 10000^(-2i/d))``, ``PE[p, 2i+1] = cos(same)``, unscaled (paper's code; width even).

    >>> sinusoids(2, 2, torch.zeros(1)).tolist()
    [[0.0, 1.0], [0.841..., 0.540...]]
    """
    place = torch.arange(token_count, dtype=torch.float64)[:, None]
    rate = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([torch.sin(place * rate), torch.cos(place * rate)], 2).reshape(token_count, width).to(like)


def alibi_slopes(heads: int) -> Float[Tensor, " heads"]:
    """Slopes m of Press et al. (2021): 2^(-8h/H) for h = 1..H where H is a power of two, interleaved otherwise."""
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8.0 * torch.arange(1, power + 1) / power)
    if power < heads:
        finer = 2.0 ** (-8.0 * torch.arange(1, 2 * power + 1) / (2 * power))
        slopes = torch.cat([slopes, finer[::2][: heads - power]])
    return slopes


def alibi_bias(heads: int, token_count: int, like: Tensor) -> Float[Tensor, "heads tokens tokens"]:
    """``-m |i - j|``, in both directions."""
    return -alibi_slopes(heads).to(like)[:, None, None] * _distance(token_count).to(like)


def _distance(token_count: int) -> Int[Tensor, "tokens tokens"]:
    place = torch.arange(token_count)
    return (place[:, None] - place).abs()


class Fire(nn.Module):
    """FIRE (Li et al. 2023): a learned function of log distance, one output a head.

    ``psi(|i - j|) = MLP(log(1 + c |i - j|) / log(1 + c max(L, threshold)))``; c and the threshold are learned
    and positive.
    """

    HIDDEN = 32

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(1))
        self.threshold = nn.Parameter(torch.empty(1))
        self.up = nn.Linear(1, self.HIDDEN)
        self.down = nn.Linear(self.HIDDEN, heads)

    def forward(self, token_count: int) -> Float[Tensor, "heads tokens tokens"]:
        """The score bias of each head."""
        scale = self.scale.abs() + 1e-6
        steps = torch.arange(token_count, device=self.scale.device, dtype=self.scale.dtype)
        reach = torch.maximum(self.threshold.abs(), torch.as_tensor(float(token_count)).to(self.threshold))
        share = torch.log1p(scale * steps) / torch.log1p(scale * reach)
        by_distance = self.down(torch.relu(self.up(share[:, None])))
        return by_distance[_distance(token_count).to(by_distance.device)].permute(2, 0, 1)


def rotate(
    vectors: Float[Tensor, "batch heads tokens depth"], places: Int[Tensor, "#batch tokens"]
) -> Float[Tensor, "batch heads tokens depth"]:
    """RoPE (Su et al. 2024): turn coordinate pairs (2i, 2i+1) by ``place * 10000^(-2i/depth)``; depth even."""
    depth = vectors.shape[-1]
    rate = 10_000.0 ** (-torch.arange(0, depth, 2, dtype=torch.float64, device=vectors.device) / depth)
    # Angles reach the length of the sequence: never in half precision.
    precise = torch.promote_types(vectors.dtype, torch.float32)
    angle = (places[..., None].double() * rate).to(precise)[:, None]
    cos, sin = torch.cos(angle), torch.sin(angle)
    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

"""Models whose audit is known or asked for: the paper's two, torch's encoder, and broken variants of the small one.

All read sequences of one grey value a token and share two methods: ``forward`` gives class scores, ``reconstruct``
gives a value a token.  They are small enough for a table in the README (``defaults``) and for tests.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

CLASSES = 2


def sinusoidal_positions(length: int, width: int) -> Float[Tensor, "length width"]:
    """``PE[p, 2i] = sin(p 10000^(-2i/width))``, cosine in the odd columns, as in the paper's code base."""
    rates = torch.exp(-math.log(10000.0) * torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(length, width)


class OneLayer(nn.Module):
    """The paper's one-layer module (section 4): one head, no bias, no MLP, no LayerNorm, no residual, mean pooling."""

    positions: Tensor

    def __init__(self, length: int, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Linear(1, width)
        self.register_buffer("positions", sinusoidal_positions(length, width))
        self.query, self.key, self.value, self.mix = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.classify, self.decode = nn.Linear(width, CLASSES), nn.Linear(width, 1)

    def features(self, values: Float[Tensor, "batch length 1"]) -> Float[Tensor, "batch length width"]:
        """Outputs of the attention layer."""
        tokens = self.embed(values) + self.positions
        return self.mix(F.scaled_dot_product_attention(self.query(tokens), self.key(tokens), self.value(tokens)))

    def forward(self, values: Float[Tensor, "batch length 1"]) -> Float[Tensor, "batch classes"]:
        return self.classify(self.features(values).mean(1))

    def reconstruct(self, values: Float[Tensor, "batch length 1"]) -> Float[Tensor, "batch length 1"]:
        return self.decode(self.features(values))


class Encoder(nn.Module):
    """Torch's ``nn.TransformerEncoder`` with its defaults, unless told otherwise, on embedded values with positions."""

    positions: Tensor

    def __init__(
        self, length: int, width: int, layers: int, heads: int, hidden: int, *, pool: str = "mean", paper: bool = False
    ) -> None:
        super().__init__()
        block = nn.TransformerEncoderLayer(
            width, heads, hidden, batch_first=True,
            norm_first=paper, activation=F.gelu if paper else F.relu, dropout=0.0 if paper else 0.1,
        )  # fmt: skip
        self.embed = nn.Linear(1, width)
        self.register_buffer("positions", sinusoidal_positions(length, width))
        norm = nn.LayerNorm(width) if paper else None
        self.encode = nn.TransformerEncoder(block, layers, norm=norm, enable_nested_tensor=False)
        self.pool = pool
        two_layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES))
        self.classify = two_layers if paper else nn.Linear(width, CLASSES)
        self.decode = nn.Linear(width, 1)

    def features(self, values: Float[Tensor, "batch length 1"]) -> Float[Tensor, "batch length width"]:
        """Outputs of the last layer."""
        return self.encode(self.embed(values) + self.positions)

    def forward(self, values: Float[Tensor, "batch length 1"]) -> Float[Tensor, "batch classes"]:
        features = self.features(values)
        return self.classify(features.mean(1) if self.pool == "mean" else features[:, 0])

    def reconstruct(self, values: Float[Tensor, "batch length 1"]) -> Float[Tensor, "batch length 1"]:
        return self.decode(self.features(values))


def paper_transformer(length: int) -> Encoder:
    """The paper's Transformer for Image: 3 pre-norm layers, width 64, 4 heads, hidden 128, GELU, final norm, mean."""
    return Encoder(length, 64, 3, 4, 128, paper=True)


def torch_encoder(length: int, pool: str) -> Encoder:
    """Two layers of torch's encoder at its defaults (post-norm, ReLU), at the width of the paper's Transformer."""
    return Encoder(length, 64, 2, 4, 128, pool=pool)


def zero_query(length: int) -> OneLayer:
    """W_Q = 0: uniform attention at the first step."""
    model = OneLayer(length)
    nn.init.zeros_(model.query.weight)
    return model


def zero_query_and_key(length: int) -> OneLayer:
    """W_Q = W_K = 0: neither gets a gradient."""
    model = zero_query(length)
    nn.init.zeros_(model.key.weight)
    return model


def zero_read_out(length: int) -> OneLayer:
    """A classifier that starts at zero: labels give nothing below it a gradient."""
    model = OneLayer(length)
    nn.init.zeros_(model.classify.weight)
    return model


def identical_tokens(length: int) -> OneLayer:
    """Every token is the same vector, as after rank collapse."""
    model = OneLayer(length)
    nn.init.zeros_(model.embed.weight)
    model.positions.zero_()
    return model


def large_scores(length: int) -> OneLayer:
    """Queries and keys a hundred times too large: the softmax saturates."""
    model = OneLayer(length)
    with torch.no_grad():
        model.query.weight.mul_(100.0)
        model.key.weight.mul_(100.0)
    return model


def label_loss(model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
    """Cross-entropy of a batch with ``values`` and ``labels``."""
    return F.cross_entropy(model(batch["values"]), batch["labels"])


def reconstruction_loss(model: Any, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
    """Half the squared error of every token; inputs are not masked."""
    error: Tensor = model.reconstruct(batch["values"]) - batch["values"]
    return error.square().mean() / 2

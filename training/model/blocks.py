"""One block: attention, and a token-wise MLP where the configuration has one.

``read`` names the positions whose output is wanted (the last block in pretraining): queries, residual, norm and MLP
are then computed there alone, keys and values everywhere.  The result equals the full computation at those positions.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from training.model.config import ModelConfig
from training.model.positions import rotate


class Attention(nn.Module):
    """Query, key, value and output maps around the fused softmax attention; scores are scaled by 1/sqrt(depth)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.rotary = "rope" in config.positions
        width, bias = config.width, config.attention_bias
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(width, width, bias=bias)
        self.value = nn.Linear(width, width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)

    def forward(
        self,
        hidden: Float[Tensor, "batch tokens width"],
        mask: Bool[Tensor, "#batch #heads #queries tokens"] | Float[Tensor, "#batch #heads #queries tokens"] | None,
        read: Int[Tensor, "batch queries"] | None,
    ) -> Float[Tensor, "batch queries width"]:
        """Attention output at the positions read (all where ``read`` is None)."""
        queries, keys = self.queries_and_keys(hidden, read)
        mixed = F.scaled_dot_product_attention(queries, keys, self._split(self.value(hidden)), attn_mask=mask)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def queries_and_keys(
        self, hidden: Float[Tensor, "batch tokens width"], read: Int[Tensor, "batch queries"] | None = None
    ) -> tuple[Float[Tensor, "batch heads queries depth"], Float[Tensor, "batch heads tokens depth"]]:
        """Queries at the positions read, and all keys, turned by RoPE where it is used."""
        queries, keys = self._split(self.query(take(hidden, read))), self._split(self.key(hidden))
        if self.rotary:
            places = torch.arange(hidden.shape[1], device=hidden.device)[None]
            queries, keys = rotate(queries, places if read is None else read), rotate(keys, places)
        return queries, keys

    def scores(self, hidden: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch heads tokens tokens"]:
        """Scaled query-key products before any bias or mask, for probes."""
        queries, keys = self.queries_and_keys(hidden)
        return queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])

    def _split(self, vectors: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch heads tokens depth"]:
        return vectors.unflatten(2, (self.heads, -1)).transpose(1, 2)


class Block(nn.Module):
    """``x += O SDPA(LN x)``, then ``x += W2 GELU(W1 LN x)``; norms, MLP and residuals as configured."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.residual = config.residual
        self.attention_norm = nn.LayerNorm(config.width) if config.normalise else nn.Identity()
        self.attention = Attention(config)
        self.mlp = Mlp(config) if config.feedforward else None

    def forward(
        self,
        hidden: Float[Tensor, "batch tokens width"],
        mask: Bool[Tensor, "#batch #heads #queries tokens"] | Float[Tensor, "#batch #heads #queries tokens"] | None,
        read: Int[Tensor, "batch queries"] | None = None,
    ) -> Float[Tensor, "batch queries width"]:
        """The next token stream, at the positions read."""
        mixed = self.attention(self.attention_norm(hidden), mask, read)
        stream = take(hidden, read) + mixed if self.residual else mixed
        if self.mlp is None:
            return stream
        update = self.mlp(stream)
        return stream + update if self.residual else update


class Mlp(nn.Module):
    """``W2 GELU(W1 LN x)`` on each token."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width) if config.normalise else nn.Identity()
        self.up = nn.Linear(config.width, config.feedforward)
        self.down = nn.Linear(config.feedforward, config.width)

    def forward(self, stream: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        """The update of the token stream."""
        return self.down(F.gelu(self.up(self.norm(stream))))


def take(
    hidden: Float[Tensor, "batch tokens width"], read: Int[Tensor, "batch queries"] | None
) -> Float[Tensor, "batch queries width"]:
    """The tokens at the positions read."""
    if read is None:
        return hidden
    return hidden.gather(1, read[..., None].expand(-1, -1, hidden.shape[2]))

"""Read-outs: pooling over valid tokens, and the classifiers of the paper's tasks."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from training.model.config import ModelConfig


class Pooling(nn.Module):
    """One vector a sequence: mean over valid tokens, the first (cls) or last valid token, or learned attention."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.pooling
        self.query = nn.Parameter(torch.empty(config.width)) if self.kind == "attention" else None

    def forward(
        self, stream: Float[Tensor, "batch tokens width"], valid: Bool[Tensor, "batch tokens"]
    ) -> Float[Tensor, "batch width"]:
        """The pooled vectors; padding has weight 0 exactly."""
        if self.kind == "cls":
            return stream[:, 0]
        if self.kind == "last":
            return stream[torch.arange(len(stream), device=stream.device), valid.sum(1) - 1]
        if self.query is None:
            weights = valid.to(stream) / valid.sum(1, keepdim=True)
        else:
            weights = (stream @ self.query).masked_fill(~valid, float("-inf")).softmax(1)
        return (weights[:, None] @ stream)[:, 0]


class Classifier(nn.Module):
    """Label read-out: Linear; Linear, ReLU, Linear; or for pairs Linear, GELU, Linear on [a, b, a - b, a*b].

    The two-layer forms are the code base's for Image and Text, and for Retrieval; the paper's A.3 says linear.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.classifier
        if self.kind == "linear":
            self.map: nn.Module = nn.Linear(config.width, config.classes)
        else:
            given = 4 * config.width if self.kind == "pair" else config.width
            activation = nn.GELU() if self.kind == "pair" else nn.ReLU()
            self.map = nn.Sequential(
                nn.Linear(given, config.width), activation, nn.Linear(config.width, config.classes)
            )

    def forward(self, pooled: Float[Tensor, "batch *pair width"]) -> Float[Tensor, "batch classes"]:
        """Logits of each sample."""
        if self.kind == "pair":
            first, second = pooled.unbind(1)
            pooled = torch.cat([first, second, first - second, first * second], 1)
        logits: Tensor = self.map(pooled)
        return logits

"""Self-pretraining's objective: hide tokens at random, reconstruct them, count only the hidden ones.

Each valid token is masked independently with probability rho, redrawn at every access (no 80/10/10).  The loss is
divided by the number masked, as trainers do, or by the expected number, as G7 assumes.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from numerics.errors import InputError
from training.data.sequences import Batch
from training.model.network import SequenceModel

LOSSES = ("l2", "l1", "cross-entropy")
NORMALISERS = ("actual", "expected")


def check_mask_ratio(ratio: float) -> None:
    """Refuse a ratio that leaves nothing to predict or nothing to see."""
    if not 0 < ratio < 1:
        raise InputError(
            f"a mask ratio must lie strictly between 0 and 1: mask_ratio={ratio}; "
            "use .5 for continuous tokens, .15 for text"
        )


def draw_mask(
    tokens: int, lengths: Int[Tensor, " batch"], ratio: float, random: torch.Generator
) -> Bool[Tensor, "batch tokens"]:
    """Bernoulli(ratio) on valid tokens, False on padding."""
    hit = torch.rand(len(lengths), tokens, generator=random) < ratio
    return hit & (torch.arange(tokens) < lengths[:, None])


def masked_loss(
    model: SequenceModel,
    batch: Batch,
    masked: Bool[Tensor, "batch tokens"],
    loss: str = "l2",
    expected_count: float | None = None,
    score_bias: Float[Tensor, "layers heads keys keys"] | None = None,
) -> Float[Tensor, ""]:
    """Mean reconstruction loss over masked tokens (and channels), 0 where nothing is masked.

    ``l2`` is the mean squared error without the factor 1/2 of the theory; ``expected_count`` replaces the number of
    masked tokens in the denominator.
    """
    predicted = model.reconstruct(batch.tokens, batch.lengths, masked, score_bias)
    wanted = batch.targets[masked]
    count = max(len(wanted), 1) if expected_count is None else expected_count
    return summed_errors(predicted, wanted, loss) / count


def summed_errors(
    predicted: Float[Tensor, "read predictions"], wanted: Shaped[Tensor, "read *channels"], loss: str
) -> Float[Tensor, ""]:
    """Sum over tokens of the error of each (mean over its channels)."""
    if loss == "l2":
        return (predicted - wanted).square().mean(1).sum()
    if loss == "l1":
        return (predicted - wanted).abs().mean(1).sum()
    return F.cross_entropy(predicted, wanted.long(), reduction="sum")

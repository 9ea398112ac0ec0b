"""The positional scores that Q3 predicts from data, and controls that lack one of its ingredients.

Q3: one gradient step of reconstruction writes positional scores proportional to ``K C_bar K`` (unmasked) or ``K R J K``
(masked), with K = P P^T and C the second moment of the tokens.  Controls: no data (``K J K``), positions alone (``K``,
which mimetic initialisation writes), and the moment of shuffled positions.  Patterns are compared by
``patterns.alignment``, in which size plays no part.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from training.data.sequences import SequenceSet
from training.model.closed_form import masked_signal, second_moment
from training.model.positions import sinusoids
from training.randomness import generator

#: What each pattern lacks, by name; the first two are Q3 itself.
PATTERNS = {
    "masked": "nothing: K R J K, for reconstruction of masked tokens",
    "unmasked": "the mask: K C_bar K",
    "no_data": "the second moment: K J K",
    "positions": "data and contraction: K alone, as mimetic initialisation writes",
    "shuffled": "the order: K C_bar K with the moment of shuffled positions",
}
CONTROLS = ("no_data", "positions", "shuffled")


def predicted_patterns(
    data: SequenceSet, width: int, mask_ratio: float, seed: int = 0, *, normalise: bool = False
) -> dict[str, Float[Tensor, "tokens tokens"]]:
    """Every pattern of ``PATTERNS`` for additive sinusoidal positions; ``seed`` draws the shuffle.

    With ``normalise`` the positions pass a LayerNorm first, as they do in a pre-norm network without content.
    """
    return patterns_of_moment(second_moment(data), width, mask_ratio, seed, normalise=normalise)


def patterns_of_moment(
    moment: Float[Tensor, "tokens tokens"], width: int, mask_ratio: float, seed: int = 0, *, normalise: bool = False
) -> dict[str, Float[Tensor, "tokens tokens"]]:
    """The same from a second moment."""
    count = len(moment)
    places = sinusoids(count, width, moment)
    if normalise:
        places = F.layer_norm(places, (width,))
    kernel = places @ places.T
    centring = torch.eye(count).to(moment) - 1 / count
    order = torch.randperm(count, generator=generator(seed, "shuffled positions"))
    return {
        "masked": kernel @ masked_signal(moment, mask_ratio) @ centring @ kernel,
        "unmasked": kernel @ centring @ moment @ centring @ kernel,
        "no_data": kernel @ centring @ kernel,
        "positions": kernel,
        "shuffled": kernel @ centring @ moment[order][:, order] @ centring @ kernel,
    }

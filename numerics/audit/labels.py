"""What labels see of the pattern, as numbers: blind energy, response, blind range, other poolings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float64

from numerics.audit.intervals import Estimate, exact, of_function, undefined
from numerics.audit.measurement import PerSequence
from numerics.patterns import pooling_weights
from numerics.structured.pooled import blind_energy, read_energy, visible_dimension, visible_energy
from numerics.structured.scores import Scores

#: The blind range ends where the pooled vector has moved by this share of its spread over sequences.
SHIFT = 0.1
#: A response this much smaller than its natural size is rounding.
ROUNDING = 1e-9
#: Series that were normalised and then rounded in a text file differ by this share of a token.
SAME = 1e-6


def label_numbers(scores: Scores, pooling: Float64[np.ndarray, " L"], of: PerSequence) -> dict[str, Estimate]:
    """Blind energy, visible dimension, response and blind range."""
    blind = blind_energy(scores, pooling)
    constant = undefined("the pattern is constant within the mask: its centred form is 0")
    seen, directions = visible_dimension(scores.mask, pooling)
    response = of_function(lambda mean: np.sqrt(mean[..., 0]), of.response[:, None])
    return {
        "blind_energy_fraction": constant if blind is None else exact(blind.value, blind.low, blind.high, blind.method),
        "visible_dimension": exact(float(seen)),
        "directions": exact(float(directions)),
        "pooled_response": response,
        "blind_range": _blind_range(scores, of),
    }


def _seen_share(scores: Scores, pooling: Float64[np.ndarray, " L"]) -> float | None:
    """Share of the energy in the rows read that labels see; 0 where these rows are constant."""
    if scores.energy == 0:
        return None
    read = read_energy(scores, pooling)
    return min(max(visible_energy(scores, pooling).value / read, 0.0), 1.0) if read > 0 else 0.0


def score_spread(scores: Scores) -> float:
    """Root mean square of the centred scores within the mask."""
    return float(np.sqrt(scores.energy / scores.mask.keys.sum()))


def response_is_zero(scores: Scores, of: PerSequence) -> bool:
    """Whether the pooled vector stays put to first order on these data, up to rounding."""
    natural = score_spread(scores) * float(np.sqrt(of.energy.mean()))
    return bool(np.sqrt(of.response.mean()) <= ROUNDING * natural)


def _blind_range(scores: Scores, of: PerSequence) -> Estimate:
    """Largest strength at which, to second order (G4), the pooled vector has moved by ``SHIFT`` of its spread.

    With root mean squares s of h(0) - E h(0), b of h'(0), c of h''(0): the positive root of
    ``b a + c a^2 / 2 = SHIFT s``, a lower bound of the strength by the triangle inequality; b is 0 along a blind
    pattern.
    """
    spread, tokens = float(np.sqrt(of.deviation.mean())), float(np.sqrt(of.energy.mean()))
    if spread <= SAME * tokens:
        return undefined("the pooled vector at uniform attention is the same in every sequence")
    natural = score_spread(scores) ** 2 * tokens
    seen = 0.0 if response_is_zero(scores, of) else 1.0
    if not seen and np.sqrt(of.curvature.mean()) <= ROUNDING * natural:
        return undefined("the pooled vector does not move to second order: blind at any strength that G4 covers")

    def root(mean: np.ndarray) -> np.ndarray:
        wanted, slope, bend = SHIFT * np.sqrt(mean[..., 0]), seen * np.sqrt(mean[..., 1]), np.sqrt(mean[..., 2])
        return np.asarray(2 * wanted / (slope + np.sqrt(slope**2 + 2 * bend * wanted)))

    found = of_function(root, np.stack([of.deviation, of.response, of.curvature], axis=1))
    reach = float(found.value or 0.0) * score_spread(scores)
    return replace(found, note=found.note or f"scores then spread by {reach:.2g}; G4 is an expansion below about 1")


def other_poolings(scores: Scores, chosen: str) -> list[dict[str, Any]]:
    """What labels see through the chosen pooling, first, and through others."""
    found = []
    for name in dict.fromkeys((chosen, "mean", "cls:0", "last")):
        weights, _ = pooling_weights(name, scores.mask.count)
        seen, directions = visible_dimension(scores.mask, weights)
        found.append(
            {
                "pooling": name,
                "seen_share_of_rows_read": _seen_share(scores, weights),
                "visible_dimension": seen,
                "directions": directions,
            }
        )
    return found

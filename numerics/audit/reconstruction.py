"""What reconstruction sees of the pattern, as numbers: slopes with intervals, their noise, the strength of order."""

from __future__ import annotations

from typing import Any

import numpy as np

from numerics.audit.autodiff import MOST_POSITIONS, chosen_members, slopes_by_autograd
from numerics.audit.intervals import Estimate, of_function, of_mean, undefined
from numerics.audit.labels import ROUNDING, score_spread
from numerics.audit.measurement import PerSequence
from numerics.audit.sequences import Sequences
from numerics.patterns import attention_mask, score_pattern
from numerics.structured.scores import Scores
from numerics.tolerance import UNIT_ROUNDOFF

#: Masking ratios that are always shown, beside the one that is trained.
RATIOS = (0.15, 0.5, 0.75)
CONSTANT = "the pattern is constant within the mask"


def tokens_are_alike(of: PerSequence) -> bool:
    """Whether the tokens of every sequence are one and the same, up to rounding: rank collapse."""
    return bool((of.variance <= ROUNDING**2 * of.energy).all())


def why_slopes_vanish(scores: Scores, alike: bool) -> str:
    """Why unmasked slopes and order slopes are exactly 0, or empty."""
    if scores.energy == 0:
        return CONSTANT
    return "all tokens of a sequence are alike" if alike else ""


def reconstruction_numbers(of: PerSequence, mask_ratio: float, reason: str, reason_beside: str) -> dict[str, Estimate]:
    """Loss and slopes with intervals, and the noise of each slope.

    Args:
        of: what was measured.
        mask_ratio: the one that is trained.
        reason: why slopes under the chosen mask vanish, or empty.
        reason_beside: the same for the diagonal mask.
    """
    # A masked position attends to others even where all tokens are alike, so that its slope is not 0 then.
    slopes = {
        "spt_slope": (of.slopes.unmasked, reason),
        "spt_slope_diagonal": (of.diagonal, reason_beside),
        "spt_slope_masked": (of.slopes.masked(mask_ratio), reason if reason == CONSTANT else ""),
        "order_slope": (of.slopes.ordered(mask_ratio), reason),
    }
    found = {"spt_loss_at_uniform_attention": of_mean(of.zero_loss)}
    for name, (values, why) in slopes.items():
        found[name] = Estimate(0.0, 0.0, 0.0, "exact", why) if why else of_mean(values)
        found[f"{name}_signal_to_noise"] = undefined(why) if why else _signal_to_noise(values)
    return found


def _signal_to_noise(values: np.ndarray) -> Estimate:
    """Mean over standard deviation, of one sequence; a batch of B has this times the square root of B."""
    if len(values) < 2 or not values.std() > 0:
        return undefined("the slope does not vary over sequences" if len(values) > 1 else "one sequence has no noise")

    def ratio(mean: np.ndarray) -> np.ndarray:
        return np.asarray(mean[..., 0] / np.sqrt(mean[..., 1] - mean[..., 0] ** 2))

    scaled = values / np.abs(values).max()
    return of_function(ratio, np.stack([scaled, scaled**2], axis=1))


def order_strength(scores: Scores, of: PerSequence, ratio: float) -> Estimate | None:
    """Minus the order slope over the largest value it could have, were C_ij = +-variance with the best signs.

    ``None`` for a pattern that holds self scores alone, which has no order slope.
    """
    size = (1 - ratio) * scores.neutral_size()
    if size <= ROUNDING * score_spread(scores):
        return None
    if tokens_are_alike(of):
        return undefined("all tokens of a sequence are alike")

    def share(mean: np.ndarray) -> np.ndarray:
        return np.asarray(-mean[..., 0] / (size * mean[..., 1]))

    return of_function(share, np.stack([of.slopes.ordered(ratio), of.variance], axis=1))


def at_ratio(of: PerSequence, ratio: float) -> dict[str, Any]:
    """Slopes at one masking ratio, for JSON."""
    masked, order = of.slopes.masked(ratio), of.slopes.ordered(ratio)
    return {
        "mask_ratio": ratio,
        "spt_slope_masked": of_mean(masked).record(),
        "order_slope": of_mean(order).record(),
        "order_slope_signal_to_noise": _signal_to_noise(order).record(),
    }


def slope_by_autograd(sequences: Sequences, pattern_name: str, mask: str, of: PerSequence, reason: str) -> Estimate:
    """The slope from the definition, and how far the closed form is from it on the same sequences."""
    count = sequences.length
    width = min(sequences.width, count) if sequences.symbolic else sequences.width
    members = chosen_members(sequences.count, count, width)
    if members is None:
        return undefined(f"L x L arrays do not fit: L={count}, differentiated up to L={MOST_POSITIONS}")
    pattern = score_pattern(pattern_name, count)
    slopes = slopes_by_autograd(pattern, attention_mask(mask, count), sequences.dense(members))
    # Both sides are sums of products bounded by this size; the longest chain has three sums over positions, twice.
    steps = 6 * (3 * count + 2 * width + 30) * UNIT_ROUNDOFF
    tolerance = steps * 4 * float(np.abs(pattern).max()) * float(of.energy[members].max())
    deviation = float(np.abs(slopes - of.slopes.unmasked[members]).max())
    if not deviation <= tolerance:
        raise ArithmeticError(
            f"closed form and automatic differentiation differ by {deviation:.3g}, more than rounding"
        )
    found = of_mean(slopes)
    note = f"{len(members)} of {sequences.count} sequences, closed form within {deviation:.1e}"
    return Estimate(found.value, found.low, found.high, found.method, f"{note}; {reason}" if reason else note)

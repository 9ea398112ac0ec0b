"""The rule behind "would self-pretraining help?", as data, as text and as code.

The verdict is about one score pattern and the first step from uniform attention; it is not a forecast of accuracy.
Three questions decide, in this order.

1. *Can anything be seen?*  A constant pattern (``no_pattern``) and sequences whose tokens are all alike
   (``rank_collapsed``) give slope 0 to every loss.
2. *Do labels see the pattern?*  Only the rows that the pooling reads reach the prediction.  Labels see it when they see
   at least half of its energy in these rows (G3), and the pooled vector really moves on these data.
3. *Does reconstruction write it?*  The order slope decides, at the masking ratio that is trained: the part of the
   token-masked slope (G7) that rests on products of different positions, with the pattern's score of a query for itself
   made neutral.  The unmasked slope and the whole masked slope do not: the first rewards copying oneself, and both are
   non-zero for independent tokens, of order (1 - rho) / L, where there is nothing to learn.  The strength is minus the
   order slope over the largest value that the spread of the tokens allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from numerics.audit.intervals import Estimate

#: Labels "see" a pattern from this share of its energy on; below, they are blind to most of it.
SEEN = 0.5
#: A strength whose whole interval is within this counts as nothing, significant or not.
NEGLIGIBLE = 0.01
#: An interval around 0 is only called nothing when it is at most this wide on either side.
PRECISE = 0.05

RULE = f"""The rule (one pattern, the first step from uniform attention; not a forecast of accuracy):
1. The pattern is constant within the mask: no_pattern.  All tokens of a sequence are alike: rank_collapsed.
2. Labels see at least {SEEN:.0%} of the pattern's energy in the rows that the pooling reads, and the pooled vector
   moves on these data: labels_see_it.
3. Otherwise the order slope decides, at the masking ratio that is trained: the part of the masked slope that rests on
   products of different positions, self scores neutral.  Strength = minus that slope over the largest value that the
   spread of the tokens allows.
   - strength within {NEGLIGIBLE:.0%} of 0 with its whole interval: nothing_to_learn;
   - the slope's interval below 0: would_help; above 0: pushes_away;
   - not told from 0, the strength's interval at most {PRECISE:.0%} on either side: nothing_to_learn;
   - one sequence, or not told from 0 with a wider interval: undecided.
   A pattern of self scores alone (identity) has no order: pushes_away where its masked slope is positive, else
   nothing_to_learn.
Intervals are 95 % Student-t over sequences.  The unmasked slope does not decide: it rewards copying oneself."""


class Outcome(StrEnum):
    """The verdict in one word."""

    WOULD_HELP = "would_help"
    NOTHING_TO_LEARN = "nothing_to_learn"
    PUSHES_AWAY = "pushes_away"
    LABELS_SEE_IT = "labels_see_it"
    RANK_COLLAPSED = "rank_collapsed"
    NO_PATTERN = "no_pattern"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Findings:
    """What the rule looks at.

    ``seen_share``: share of the energy in the rows read that labels see (``None`` for a constant pattern, 0 for
    constant rows); ``response_is_zero``: whether the pooled vector stays put up to rounding; ``order``: the order
    slope; ``strength``: its size, positive towards the pattern, ``None`` for a pattern of self scores alone;
    ``masked``: the whole masked slope.
    """

    tokens_alike: bool
    seen_share: float | None
    response_is_zero: bool
    order: Estimate
    strength: Estimate | None
    masked: Estimate
    mask_ratio: float
    sequences: int


def reconstruction_outcome(findings: Findings) -> Outcome:
    """Question 3 alone.

    >>> slope, strength = Estimate(-1.0, -2.0, -0.5, ""), Estimate(0.2, 0.1, 0.3, "")
    >>> reconstruction_outcome(Findings(False, 0.1, False, slope, strength, slope, 0.5, 9)).value
    'would_help'
    """
    strength = findings.strength
    if strength is None:
        return Outcome.PUSHES_AWAY if findings.masked.sign > 0 else Outcome.NOTHING_TO_LEARN
    if strength.low is None or strength.high is None:
        return Outcome.UNDECIDED
    if max(-strength.low, strength.high) <= NEGLIGIBLE:
        return Outcome.NOTHING_TO_LEARN
    if findings.order.sign:
        return Outcome.WOULD_HELP if findings.order.sign < 0 else Outcome.PUSHES_AWAY
    return Outcome.NOTHING_TO_LEARN if (strength.high - strength.low) / 2 <= PRECISE else Outcome.UNDECIDED


def outcome(findings: Findings) -> Outcome:
    """The whole rule."""
    if findings.seen_share is None:
        return Outcome.NO_PATTERN
    if findings.tokens_alike:
        return Outcome.RANK_COLLAPSED
    if findings.seen_share >= SEEN and not findings.response_is_zero:
        return Outcome.LABELS_SEE_IT
    return reconstruction_outcome(findings)


def sentence(findings: Findings) -> str:
    """The verdict in one sentence."""
    found, ratio = outcome(findings), f"a masking ratio of {findings.mask_ratio:g}"
    if found is Outcome.NO_PATTERN:
        return "The pattern is constant within the mask, so that no loss can see it and there is nothing to judge."
    if found is Outcome.RANK_COLLAPSED:
        return (
            "All tokens of a sequence are alike (rank collapse), so that labels and reconstruction are both blind: "
            "self-pretraining would not help before the tokens differ."
        )
    labels = _labels_clause(findings)
    strength = "" if findings.strength is None else f" (strength {_interval(findings.strength)})"
    if found is Outcome.LABELS_SEE_IT:
        beside = {
            Outcome.WOULD_HELP: "reconstruction writes it too",
            Outcome.PUSHES_AWAY: "reconstruction would push away from it",
        }.get(reconstruction_outcome(findings), "reconstruction does not")
        return f"{labels}: self-pretraining is not needed for this pattern; {beside} at {ratio}{strength}."
    if found is Outcome.WOULD_HELP:
        return f"{labels}, and reconstruction writes it at {ratio}{strength}: self-pretraining would help."
    if found is Outcome.PUSHES_AWAY:
        return (
            f"{labels}, and reconstruction lowers these scores at {ratio}{strength}: "
            "self-pretraining pushes away from this pattern."
        )
    if found is Outcome.NOTHING_TO_LEARN:
        why = f"what it sees is negligible{strength}" if findings.order.sign else f"it is blind too{strength}"
        why = "the pattern holds self scores alone" if findings.strength is None else why
        return (
            f"{labels}, and reconstruction has nothing to learn about it at {ratio}, {why}: "
            "self-pretraining would not help."
        )
    many = "one sequence has no interval" if findings.sequences == 1 else f"the interval is too wide{strength}"
    return f"{labels}; whether reconstruction writes it at {ratio} is undecided: {many}."


def _labels_clause(findings: Findings) -> str:
    share = findings.seen_share or 0.0
    if findings.response_is_zero:
        return "Labels are blind to the pattern at first order"
    if share >= SEEN:
        return f"Labels see it already ({_percent(share)} of its energy in the rows that the pooling reads)"
    return f"Labels are blind to most of the pattern (they see {_percent(share)} of its energy)"


def _percent(share: float) -> str:
    """Two digits, and no 0 % for what is not 0."""
    return f"{share:.0%}" if share >= 0.095 else f"{100 * share:.2g} %".replace(" ", "")


def _interval(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "without an interval"
    return f"{estimate.value:.2g}, {estimate.low:.2g} to {estimate.high:.2g}"


def sequences_needed(findings: Findings) -> int | None:
    """How many sequences would make the interval as narrow as the rule asks, or tell the strength from 0."""
    strength = findings.strength
    if strength is None or strength.value is None or strength.low is None or strength.high is None:
        return None
    width = (strength.high - strength.low) / 2
    wanted = max(PRECISE, abs(strength.value))
    return int(findings.sequences * (width / wanted) ** 2) + 1

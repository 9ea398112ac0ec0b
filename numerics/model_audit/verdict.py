"""One word for what the label loss can do to a head's scores at initialisation, and why.

Several illnesses can hold at once; the first in this order is named, because each hides the ones after it:

1. ``no gradient path``: no differentiable path from the loss to the scores, or none from the scores on to any parameter
   (W_Q = W_K = 0, constant queries and keys without a learned score bias).
2. ``zero read-out``: nothing downstream passes a gradient to the head's outputs (zero head, zero output projection).
3. ``rank-collapsed``: all tokens carry the same value vector; no loss can tell attention patterns apart.
4. ``saturated``: the softmax is one-hot and passes no gradient.
5. ``label-blind``: the gradient is there, but none of it, or next to none, lies in the blind set of mean pooling.
6. ``visible``: none of these.

All of it rests on gradients at initialisation.  A loss that does not fall because the step was too large, or whose
scale is tiny, is not blindness: no verdict changes when the loss is multiplied by a constant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from numerics.model_audit.gradients import HeadGradient
from numerics.model_audit.statistics import HeadStatistics

#: Values that differ by less than a thousandth of their size (energy 1e-6): every score gradient is proportional to
#: differences of values, so it is below a thousandth of what distinct tokens would get.
COLLAPSED_SPREAD = 1e-6

#: Entropy below a twentieth of log n.  A row with weight p on one key and the rest spread evenly then has p > .95 for
#: every n >= 2 (p = .994 at n = 2, .982 at 16, .969 at 1024), and the softmax Jacobian, whose trace is 1 - sum a^2,
#: passes less than a tenth of what it passes at uniform attention.
SATURATED_ENTROPY = 0.05

#: A gradient without preferred direction has the share dim(blind)/dim(row-centred), (L-1)/L for the full mask, in the
#: blind set.  "Nearly blind" is a hundredth of that: the gradient along *any* blind pattern is at most a tenth of the
#: gradient's norm.
NEARLY_BLIND = 0.01


class Verdict(StrEnum):
    """What was found, in the order of diagnosis."""

    NO_GRADIENT_PATH = "no gradient path"
    ZERO_READ_OUT = "zero read-out"
    RANK_COLLAPSED = "rank-collapsed"
    SATURATED = "saturated"
    LABEL_BLIND = "label-blind"
    VISIBLE = "visible"


@dataclass(frozen=True)
class Diagnosis:
    """A verdict and the sentence that gives its reason with numbers."""

    verdict: Verdict
    reason: str
    exact: bool = False
    """Label-blind up to rounding, not only nearly."""


def diagnose(
    gradient: HeadGradient, statistics: HeadStatistics, blind_fraction: float, mask_learns: bool = False
) -> Diagnosis:
    """Name one head's state under the label loss.

    Args:
        gradient: the label loss's score gradient.
        statistics: the head's attention at initialisation.
        blind_fraction: dimension of the blind set over that of all row-centred patterns, 0..1.
        mask_learns: whether an additive mask, such as a position bias, is itself a function of parameters.
    """
    if gradient.norm is None:
        return Diagnosis(Verdict.NO_GRADIENT_PATH, "no differentiable path leads from the loss to the scores")
    if gradient.norm > 0 and not (gradient.query_norm or gradient.key_norm or mask_learns):
        return Diagnosis(
            Verdict.NO_GRADIENT_PATH,
            "the scores have a gradient, but none reaches queries or keys (both zero, or both constant)",
        )
    if gradient.output_norm == 0:
        return Diagnosis(
            Verdict.ZERO_READ_OUT, "the loss has gradient exactly 0 at this head's outputs: nothing downstream reads it"
        )
    if statistics.value_spread <= COLLAPSED_SPREAD:
        return Diagnosis(
            Verdict.RANK_COLLAPSED,
            f"the values of different tokens differ by {statistics.value_spread**0.5:.1g} of their size",
        )
    if statistics.relative_entropy is not None and statistics.relative_entropy < SATURATED_ENTROPY:
        return Diagnosis(
            Verdict.SATURATED, f"entropy is {100 * statistics.relative_entropy:.1f} % of log n: the softmax is one-hot"
        )
    if blind_fraction == 0:
        return Diagnosis(Verdict.VISIBLE, "this mask leaves no pattern that mean-pooled labels are blind to")
    if not gradient.resolved:
        return Diagnosis(
            Verdict.LABEL_BLIND,
            f"to all patterns: the gradient, {gradient.norm:.1e}, is within the rounding bound {gradient.rounding:.1e}",
            exact=True,
        )
    if gradient.blind_norm <= gradient.rounding:
        return Diagnosis(
            Verdict.LABEL_BLIND,
            f"exactly: the blind part, {gradient.blind_norm:.1e}, is within the rounding bound {gradient.rounding:.1e}",
            exact=True,
        )
    share = gradient.blind or 0.0
    if share <= NEARLY_BLIND * blind_fraction:
        return Diagnosis(Verdict.LABEL_BLIND, f"nearly: {share:.1e} of the gradient's energy is in the blind set")
    keys_only = "; queries are zero, so W_K starts with gradient 0" if gradient.key_norm == 0 else ""
    return Diagnosis(Verdict.VISIBLE, f"{100 * share:.1f} % of the gradient's energy is in the blind set{keys_only}")


def overall(diagnoses: Sequence[Diagnosis]) -> Verdict:
    """A model's verdict: visible where any head is, else the most frequent, ties by the order of diagnosis."""
    counts = Counter(diagnosis.verdict for diagnosis in diagnoses)
    if counts[Verdict.VISIBLE]:
        return Verdict.VISIBLE
    return max(Verdict, key=lambda verdict: counts[verdict])

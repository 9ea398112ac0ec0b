"""G5: labels cannot see a periodic relative-position bias at any strength.

Where scores and mask depend on the offset in a group (a ring, a torus), every query has the same softmax denominator
and every key the same total weight, so that mean pooling returns the mean token for every α.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from theory.claim import Claim, FalseVariant, MaskKind, Part, PoolingKind, Quantity, Setting
from theory.claims.first_order import supervised_slope
from theory.curves import CurveEntry
from theory.derivation import Derivation, Lemma
from theory.geometry import RING, TORUS, OffsetTable, same_distance_same_score
from theory.objectives import attention, output, pooled, supervised
from theory.objects import pooled_key_weight, tokens
from theory.sums import FEATURES, POSITIONS, Rule, definition_rule, index, length, total

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
_c = index("c", FEATURES)
_MEAN = Setting(MaskKind.FULL, PoolingKind.MEAN)
_MASKS = {RING.name: MaskKind.RING, TORUS.name: MaskKind.FULL}


def _rules(group: OffsetTable) -> tuple[Rule, ...]:
    return (group.mask_rule, *group.softmax_rules, *group.table_rules)


def _lemma(group: OffsetTable, name: str, title: str, left: CurveEntry, chain: Derivation, *cited: str) -> Lemma:
    depends_on = tuple(f"{group.name}-{c}" for c in cited)
    setting = Setting(_MASKS[group.name], PoolingKind.MEAN)
    return Lemma(f"{group.name}-{name}", title, left, chain, depends_on, setting, (group.constraint,))


@cache
def _attention_of_offset(group: OffsetTable) -> Lemma:
    weight = total(group.table[_i, _j, _k] * group.allowed[_k] * group.weights[_k], _k)
    chain = Derivation(attention(_i, _j).unfold()).rewrite(weight / group.normaliser[()], *_rules(group))
    return _lemma(group, "attention", "Attention depends on the offset alone", attention(_i, _j), chain)


@cache
def _output_of_offset(group: OffsetTable) -> Lemma:
    chain = Derivation(output(_i, _c).unfold()).cite(_attention_of_offset(group))
    return _lemma(group, "output", "Outputs where scores depend on the offset", output(_i, _c), chain, "attention")


@cache
def _pooled_is_still(group: OffsetTable) -> Lemma:
    chain = Derivation(pooled(_c).unfold()).cite(_output_of_offset(group))
    mean = total(tokens[_j, _c], _j) / length
    chain.rewrite(mean, *_MEAN.rules, *_rules(group), note="every key has total weight 1").differentiate()
    chain.rewrite(sp.S.Zero)
    title = "The mean-pooled vector does not move"
    return _lemma(group, "pooled", title, pooled(_c, order=1), chain, "output")


def _derive(group: OffsetTable, part: Part) -> Derivation:
    chain = Derivation(supervised(), note="L_sup(α)").differentiate().cite(_pooled_is_still(group))
    return chain.rewrite(sp.S.Zero)


def _constant(group: OffsetTable) -> Part:
    return Part(
        f"on a {group.name}", Quantity.SUPERVISED_SLOPE_ANYWHERE, sp.S.Zero, lambda part: _derive(group, part),
        Setting(_MASKS[group.name], PoolingKind.MEAN), (group.constraint,),
    )  # fmt: skip


def _derive_slope(part: Part) -> Derivation:
    return supervised_slope().rewrite(part.statement, definition_rule(pooled_key_weight), *part.rules)


def _blind(setting: Setting, *hypotheses: object) -> Part:
    return Part(
        "supervised", Quantity.SUPERVISED_SLOPE, sp.S.Zero, _derive_slope, setting, hypotheses  # type: ignore[arg-type]
    )  # fmt: skip


CLAIM = Claim(
    id="G5",
    title="Periodic biases are invisible at any strength",
    sentence="If scores depend on the offset on a ring or a torus alone (on a ring: under any mask that does, too), "
    "the mean-pooled label loss is constant in α: labels cannot see a periodic relative-position bias at any strength.",
    source="theory.md G5",
    parts=(_constant(RING), _constant(TORUS)),
    assumptions=(
        "Scores and mask depend on the offset in a group alone; of the group the proof needs only that every query "
        "meets every offset once and every key too.",
        "Mean pooling.",
        "Derivative and expectation may be exchanged (automatic on a finite sample space).",
    ),
    depends_on=("ring-attention", "ring-pooled", "torus-attention", "torus-pooled"),
    not_needed=("Smallness of the scores.",),
    not_shown=(
        "Biases that are not periodic, ALiBi among them: they are visible at first order (refuted below).",
        "Numeric routes differentiate at α = 1; patterns of every size stand in for every α.",
    ),
    false_variants=(
        FalseVariant(
            "relative position is enough", "Labels cannot see a relative-position bias, periodic or not.",
            _blind(_MEAN, same_distance_same_score), least_length=3,
        ),
        FalseVariant(
            "under CLS pooling", "A periodic bias is invisible under CLS pooling too.",
            _blind(Setting(MaskKind.FULL, PoolingKind.CLS), RING.constraint),
        ),
        FalseVariant(
            "under every mask", "A periodic bias is invisible under every mask.",
            _blind(Setting(MaskKind.ANY, PoolingKind.MEAN), RING.constraint),
        ),
    ),
    least_length=3,  # on two positions most offset masks leave a query one key
)  # fmt: skip

LEMMAS = tuple(
    (lambda make=make, group=group: make(group))
    for group in (RING, TORUS)
    for make in (_attention_of_offset, _output_of_offset, _pooled_is_still)
)

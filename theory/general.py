"""The true value of every quantity, for any mask, pooling and pattern; residues of false statements start here.

Each expression is the end of a derivation: the statements of G1, their coefficient arrays, and the curvature lemma.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from theory.claim import Part, Quantity
from theory.claims.first_order import GENERAL_RECONSTRUCTION, GENERAL_SUPERVISED
from theory.claims.second_order import GENERAL_CURVATURE
from theory.composition import READOUT, RESIDUAL_READOUT, TWO_LAYERS
from theory.masking import MASKED_SLOPE
from theory.objects import DEFINED, centred, gradient_moment, key_count, pattern, pooled_key_weight, tokens
from theory.query_key import GENERAL_RECONSTRUCTION as QUERY_KEY_RECONSTRUCTION
from theory.query_key import GENERAL_SUPERVISED as QUERY_KEY_SUPERVISED
from theory.query_key import definitions as query_key_definitions
from theory.softmax import pooled_curvature
from theory.sums import (
    FEATURES,
    POSITIONS,
    NormalForm,
    Rule,
    definition_rule,
    delta,
    index,
    normal_form,
    residue,
    total,
)
from theory.sums.symbols import fresh

_i, _j = index("i", POSITIONS), index("j", POSITIONS)
_c = index("c", FEATURES)


def _coefficients(linear: sp.Expr) -> sp.Expr:
    row, column = (fresh(formal) for formal in pattern.formal_indices())
    unit = Rule("Δ = basis pattern", pattern[row, column], delta(row, _i) * delta(column, _j))
    unfold = (definition_rule(pooled_key_weight), definition_rule(centred), unit)
    return normal_form(linear, unfold).expression()


def true_value(quantity: Quantity) -> sp.Expr:
    """What a derivation gives for a quantity, before any specialisation; an algebraic part has its own left side."""
    if quantity is Quantity.GRADIENT_PRODUCT:
        product = _coefficients(GENERAL_SUPERVISED) * _coefficients(GENERAL_RECONSTRUCTION)
        return total(total(product, _j), _i)
    values = {
        Quantity.ATTENTION_SLOPE: lambda: centred[_i, _j] / key_count[_i],
        Quantity.POOLED_SLOPE: lambda: total(pooled_key_weight[_j] * tokens[_j, _c], _j),
        Quantity.TOKEN_INFLUENCE: lambda: pooled_key_weight[_j],
        Quantity.SUPERVISED_SLOPE: lambda: GENERAL_SUPERVISED,
        Quantity.RECONSTRUCTION_SLOPE: lambda: GENERAL_RECONSTRUCTION,
        Quantity.SUPERVISED_GRADIENT: lambda: _coefficients(GENERAL_SUPERVISED),
        Quantity.RECONSTRUCTION_GRADIENT: lambda: _coefficients(GENERAL_RECONSTRUCTION),
        Quantity.POOLED_CURVATURE: lambda: pooled_curvature().right,
        Quantity.SUPERVISED_CURVATURE: lambda: GENERAL_CURVATURE,
        Quantity.MASKED_SLOPE: lambda: MASKED_SLOPE,
        Quantity.QUERY_KEY_SUPERVISED: lambda: QUERY_KEY_SUPERVISED,
        Quantity.QUERY_KEY_RECONSTRUCTION: lambda: QUERY_KEY_RECONSTRUCTION,
        Quantity.READOUT_SLOPE: lambda: READOUT.general_slope,
        Quantity.RESIDUAL_READOUT_SLOPE: lambda: RESIDUAL_READOUT.general_slope,
        Quantity.TWO_LAYER_SLOPE: lambda: TWO_LAYERS.general_slope,
    }
    return values[quantity]()


def asymmetric_objects() -> list[str]:
    """Objects that are flagged symmetric but whose definition is not; the normal form relies on the flag."""
    wrong = []
    for tensor in (t for t in DEFINED if t.symmetric):
        formal = tensor.formal_indices()
        rules = [definition_rule(t) for t in DEFINED if t != tensor]
        swapped = tensor[formal[1], formal[0]].unfold()
        if not residue(tensor[formal].unfold(), swapped, rules).is_zero:
            wrong.append(tensor.name)
    return wrong


def _rules(part: Part) -> Sequence[Rule]:
    # A hypothesis with several terms is no rewriting rule; without it the residue is only less simplified.
    rules = list(part.setting.rules)
    for hypothesis in part.hypotheses:
        if len(normal_form(hypothesis.expression).terms) == 1:
            rules.append(hypothesis.rule)
    return (*rules, definition_rule(gradient_moment), *query_key_definitions)


def claimed_residue(part: Part) -> NormalForm:
    """Normal form of claimed - true in the part's setting and under its hypotheses; zero only for a true statement."""
    true = part.left if part.quantity is Quantity.ALGEBRAIC else true_value(part.quantity)
    return residue(part.statement, true, _rules(part))

"""Mistakes in a statement, generated from its SymPy tree, and an independent decision whether one is a mistake at all.

The slips of ``tests.theory.mutants`` (sign, L against L ± 1, transposed and wrong indices, Δ for Δ̄, dropped factors and
terms, powers) and, here: doubled coefficients, centred for uncentred objects, a zero that is none.
"""

import contextlib
import os
import random
from collections.abc import Iterator
from functools import cache

import sympy as sp

from tests.theory.brute_force import fixed_names, placements, setting_model, value, witnessed
from tests.theory.mutants import mutants
from theory.claim import Claim, Part, Quantity, cls_position
from theory.claims.blind_set import unit_length
from theory.curves import CurveEntry
from theory.objects import (
    DEFINED,
    centred,
    centred_moment,
    centred_pattern,
    centring,
    key_count,
    pattern,
    pooled_key_weight,
    second_moment,
)
from theory.softmax import count_keys
from theory.sums import POSITIONS, Entry, Index, Tensor, definition_rule, delta, index, length, residue, total

#: Every generated mistake is tried, not a seeded sample, when this variable is set.
EVERYTHING = bool(os.environ.get("SABOTAGE_ALL"))

_CONFUSED = {
    second_moment: (centred_moment,), centred_moment: (second_moment,), pattern: (centred_pattern,),
    centred: (centred_pattern,), centred_pattern: (pattern,),
}  # fmt: skip

_i, _j = index("i", POSITIONS), index("j", POSITIONS)
_NOT_ZERO = {
    "one for zero": sp.S.One,
    "1/L for zero": 1 / length,
    "⟨Δ̄, C⟩ for zero": total(total(centred[_i, _j] * second_moment[_i, _j], _j), _i) / length**2,
    "Σ v² for zero": total(pooled_key_weight[_j] ** 2, _j),
}


def mistakes(expression: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    """Pairs (kind, changed expression), each with one mistake, without repetition."""
    if expression == 0:
        yield from _NOT_ZERO.items()
        return
    seen = {expression}
    for kind, changed in (*mutants(expression), *_more(expression)):
        if changed not in seen:
            seen.add(changed)
            yield kind, changed


def _more(expression: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    if isinstance(expression, (Tensor, Index)):
        return
    if isinstance(expression, sp.Rational):
        yield "doubled coefficient", 2 * expression
    elif not isinstance(expression, sp.Symbol):
        yield "doubled", 2 * expression
    if isinstance(expression, Entry):
        for other in _CONFUSED.get(expression.tensor, ()):
            yield f"{other.name} for {expression.tensor.name}", other[expression.indices]
        if expression.tensor == centring:
            yield "no centring", delta(*expression.indices)
    elif isinstance(expression, sp.Sum):
        for kind, body in _more(expression.function):
            yield kind, sp.Sum(body, *expression.limits)
    elif isinstance(expression, (sp.Add, sp.Mul)) or type(expression).__name__ == "Expectation":
        for place, argument in enumerate(expression.args):
            for kind, changed in _more(argument):
                yield kind, expression.func(*expression.args[:place], changed, *expression.args[place + 1 :])


def statement_mistakes(part: Part) -> list[tuple[str, sp.Expr]]:
    """Mistakes of a part's statement that still speak of its own free indices only."""
    allowed = {*part.free, cls_position}
    return [
        (kind, changed)
        for kind, changed in mistakes(part.statement)
        if {s for s in changed.free_symbols if isinstance(s, Index)} <= allowed
    ]


def chosen(cases: list, count: int, seed: int = 0) -> list:
    """All cases, or without ``SABOTAGE_ALL`` a seeded sample of them in their order."""
    if EVERYTHING or len(cases) <= count:
        return cases
    return [cases[n] for n in sorted(random.Random(seed).sample(range(len(cases)), count))]


# --- is it a mistake? ------------------------------------------------------------------------------------------------

#: Lengths and seeds of the exact instances that decide; Fractions, plain loops, nothing of ``numerics``.
_DRAWN = ((4, 1), (4, 2), (5, 3), (4, 4), (5, 5))


@cache
def _models(setting, hypotheses, witness):
    return [witnessed(setting_model(setting, hypotheses, seed, count), dict(witness)) for count, seed in _DRAWN]


def exactly_equal(left: sp.Expr, right: sp.Expr, part: Part) -> bool:
    """Whether both expressions agree on every drawn instance of the part's setting, hypotheses and witness law."""
    for model in _models(part.setting, part.hypotheses, tuple(part.witness.items())):
        for names in placements(list(part.free), model):
            names |= fixed_names(model)
            try:
                if value(left, model, names, 0) != value(right, model, names, 0):
                    return False
            except ZeroDivisionError:
                return False
    return True


def provably_equal(left: sp.Expr, right: sp.Expr, part: Part) -> bool:
    """Whether the normal form proves them equal, with every rule that the part may use."""
    unfold = [definition_rule(t) for t in DEFINED if t != key_count]
    with contextlib.suppress(ValueError):
        return residue(left, right, (*part.rules, *unfold, count_keys, unit_length)).is_zero
    return False


def is_mistake(part: Part, changed: sp.Expr) -> bool:
    """Whether a changed statement is false; both decisions must agree.

    The normal form may miss that an identity is true where definitions hide a hypothesis, or offsets on a group.
    """
    equal, proved = exactly_equal(changed, part.statement, part), provably_equal(changed, part.statement, part)
    on_group = any(h.rewriting is not None for h in part.hypotheses)
    missed = equal and (part.quantity is Quantity.ALGEBRAIC or on_group)
    assert equal == proved or missed, f"{part.text}: loops say {equal}, the normal form says {proved}, of {changed}"
    return not equal


def has_curves(expression: sp.Expr) -> bool:
    """Whether an expression mentions attention, outputs, pooled vectors or α itself."""
    return any(isinstance(n, (CurveEntry, sp.exp)) or hasattr(n, "as_entry") for n in sp.preorder_traversal(expression))


def parts(claims_: tuple[Claim, ...]) -> list[tuple[Claim, Part]]:
    return [(claim, part) for claim in claims_ for part in claim.parts]

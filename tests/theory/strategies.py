"""Random expressions of the calculus, random equal rewritings of them, and random models to evaluate them in.

Index names are drawn from a small pool that contains the canonical names of the normal form, so that shadowing and
capture are provoked rather than avoided.
"""

import random
from dataclasses import dataclass, field
from fractions import Fraction

import sympy as sp
from hypothesis import strategies as st

from tests.theory.brute_force import Model, random_array, random_arrays, random_weights
from theory.sums import FEATURES, POSITIONS, Entry, Expectation, Index, Tensor, delta, index, length, total, width

P, F = POSITIONS, FEATURES
# No name of theory.objects with another meaning: SymPy's caches may swap two symbols that are equal.
PLAIN = Tensor("D", (P, P))
SYMMETRIC = Tensor("Y", (P, P), symmetric=True)
BINARY = Tensor("b", (P, P), idempotent=True)
VECTOR = Tensor("w", (P,))
NONZERO = Tensor("z", (P,))
FEATURE = Tensor("f", (F,))
RANDOM = Tensor("X", (P, F), random=True)
RANDOM_VECTOR = Tensor("g", (F,), random=True)

POOL = {P: [index(n, P) for n in ("i", "j", "p_1", "p_2")], F: [index(n, F) for n in ("c", "f_1")]}


@dataclass(frozen=True)
class Vocabulary:
    """Tensors that expressions are made of; ``inverted`` may stand in a denominator."""

    fixed: tuple = (PLAIN, SYMMETRIC, BINARY, VECTOR, FEATURE)
    random: tuple = (RANDOM, RANDOM_VECTOR)
    inverted: tuple = (NONZERO,)
    pool: dict = field(default_factory=lambda: POOL)


GENERIC = Vocabulary()


@st.composite
def expressions(draw, vocabulary=GENERIC, depth=3, expect=True):
    """An expression whose free indices are among the pool."""
    return draw(_term(vocabulary, depth, False, expect))


@st.composite
def _term(draw, vocabulary, depth, inside, expect):
    kinds = ["leaf"] if depth == 0 else ["leaf", "add", "multiply", "sum", "sum", "square"]
    if expect and depth:
        kinds += ["expectation", "expectation"]
    kind = draw(st.sampled_from(kinds))
    if kind == "add":
        return draw(_term(vocabulary, depth - 1, inside, expect)) + draw(_term(vocabulary, depth - 1, inside, expect))
    if kind == "multiply":
        return draw(_term(vocabulary, depth - 1, inside, expect)) * draw(_term(vocabulary, depth - 1, inside, False))
    if kind == "square":
        return draw(_term(vocabulary, depth - 1, inside, False)) ** 2
    if kind == "sum":
        bound = draw(_index(vocabulary, draw(st.sampled_from((P, P, F)))))
        return total(draw(_term(vocabulary, depth - 1, inside, expect)), bound)
    if kind == "expectation":
        return Expectation(draw(_term(vocabulary, depth - 1, True, False)))
    return draw(_leaf(vocabulary, inside))


@st.composite
def _leaf(draw, vocabulary, inside):
    choices = [*vocabulary.fixed, *vocabulary.fixed, *vocabulary.inverted, "delta", "number"]
    choices += [*vocabulary.random] * 3 if inside else []
    chosen = draw(st.sampled_from(choices))
    if chosen == "number":
        return draw(st.sampled_from((sp.Integer(-2), sp.Rational(1, 3), length, 1 / length, width, length - 1)))
    if chosen == "delta":
        return delta(draw(_index(vocabulary, P)), draw(_index(vocabulary, P)))
    entry = chosen[tuple(draw(_index(vocabulary, r)) for r in chosen.ranges)]
    return 1 / entry if chosen in vocabulary.inverted and draw(st.booleans()) else entry


def _index(vocabulary, range_):
    return st.sampled_from(vocabulary.pool[range_])


@st.composite
def generic_models(draw):
    """Random entries for the generic vocabulary, at sizes 1 to 3."""
    seed = draw(st.integers(0, 10**6))
    return generic_model(draw(st.integers(1, 3)), draw(st.integers(1, 2)), seed)


def generic_model(token_count, token_width, seed):
    rng = random.Random(seed)
    square = (token_count, token_count)
    upper = random_array(square, rng)
    bits = random_array(square, rng)
    entries = {
        "D": random_array(square, rng),
        "Y": lambda place, sample=None: upper(tuple(sorted(place))),
        "b": lambda place, sample=None: Fraction(int(bits(place) > 0)),
        "w": random_array((token_count,), rng),
        "z": random_array((token_count,), rng, least=1),
        "f": random_array((token_width,), rng),
        "X": random_arrays((token_count, token_width), 2, rng),
        "g": random_arrays((token_width,), 2, rng),
    }
    return Model(token_count, token_width, random_weights(2, rng), entries)


# --- rewritings that do not change the value -------------------------------------------------------------------------


def scrambled(expression, rng):
    """An equal expression: renamed, reordered, distributed, with deltas put in; ``rng`` decides."""
    names = {n.name for n in sp.preorder_traversal(expression) if isinstance(n, Index)}
    return _scrambled(expression, rng, iter(f"q{n}" for n in range(10**6) if f"q{n}" not in names))


def _scrambled(expression, rng, unused):
    if isinstance(expression, (Entry, sp.Symbol)) or not expression.args:
        return expression
    if isinstance(expression, sp.Sum):
        return _scrambled_sum(expression, rng, unused)
    if isinstance(expression, Expectation):
        body = _scrambled(expression.args[0], rng, unused)
        if isinstance(body, sp.Add):
            return sp.Add(*(Expectation(a) for a in body.args))
        if isinstance(body, sp.Sum) and len(body.limits) == 1:
            return sp.Sum(Expectation(body.function), *body.limits)
        return Expectation(body)
    if isinstance(expression, sp.Pow) and expression.exp == 2:
        # Both copies are scrambled on their own, so their bound indices differ.
        return _scrambled(expression.base, rng, unused) * _scrambled(expression.base, rng, unused)
    parts = [_scrambled(a, rng, unused) for a in expression.args]
    if isinstance(expression, sp.Mul):
        sums = [p for p in parts if isinstance(p, sp.Add)]
        if sums and rng.random() < 0.7:
            chosen = rng.choice(sums)
            rest = sp.Mul(*(p for p in parts if p is not chosen))
            return sp.Add(*(rest * a for a in chosen.args))
    return expression.func(*parts)


def _scrambled_sum(expression, rng, unused):
    body, limits = expression.function, []
    for bound, low, high in expression.limits:  # innermost first; an outer index of the same name finds none left
        new = Index(next(unused), bound.range)
        body = _replaced(body, bound, new)
        limits.append((new, low, high))
        if rng.random() < 0.3:
            other = Index(next(unused), bound.range)
            body = total(delta(new, other) * _replaced(body, new, other), other)
    rng.shuffle(limits)
    body = _scrambled(body, rng, unused)
    if isinstance(body, sp.Add) and rng.random() < 0.7:
        return sp.Add(*(sp.Sum(a, *limits) for a in body.args))
    return sp.Sum(body, *limits)


def _replaced(expression, old, new):
    """Replace a free index by one that occurs nowhere."""
    if expression == old:
        return new
    if isinstance(expression, Tensor) or not expression.args:
        return expression
    if isinstance(expression, sp.Sum) and any(bound == old for bound, *_ in expression.limits):
        return expression
    if isinstance(expression, sp.Sum):
        return sp.Sum(_replaced(expression.function, old, new), *expression.limits)
    return expression.func(*(_replaced(a, old, new) for a in expression.args))

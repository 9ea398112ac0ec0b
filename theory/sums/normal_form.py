"""Normal form of a finite sum: coefficients in Q(L, d, ρ) times canonical monomials.

A monomial is a product of tensor entries with integer exponents, a set of bound indices that are summed over their
whole range, and a flag that says whether the random factors stand inside an expectation.  Two expressions that differ
by linearity, distributivity, Fubini, renaming, delta contraction, ``sum 1 = size`` and idempotent masks have the same
normal form; the canonical names of bound indices are the least under permutations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from theory.sums.symbols import (
    Entry,
    Expectation,
    Index,
    Range,
    Tensor,
    fresh,
    is_delta,
    length,
    mask_ratio,
    total,
    width,
)

#: Coefficients are exact elements of the field of rational functions in L, d and the masking ratio.
COEFFICIENTS = sp.QQ.frac_field(length, width, mask_ratio)

_MOST_RENAMINGS = 50_000


class ExpectationError(ValueError):
    """A product of two expectations, or a random factor both inside and outside one, has no single-copy normal form."""


@dataclass(frozen=True)
class Factor:
    """A tensor entry to a non-zero integer power."""

    tensor: Tensor
    indices: tuple[Index, ...]
    exponent: int = 1

    def renamed(self, names: Mapping[Index, Index]) -> Factor:
        indices = tuple(names.get(i, i) for i in self.indices)
        if self.tensor.symmetric:
            first, second = sorted(indices[:2], key=lambda i: i.name)
            indices = (first, second, *indices[2:])
        return Factor(self.tensor, indices, self.exponent)

    @property
    def key(self) -> tuple[Any, ...]:
        ranges = tuple(r.name for r in self.tensor.ranges)
        return (self.tensor.name, ranges, self.exponent, tuple(i.name for i in self.indices))


@dataclass(frozen=True)
class Monomial:
    """A product of factors, summed over ``bound``, inside an expectation if ``expected``."""

    factors: tuple[Factor, ...]
    bound: tuple[Index, ...] = ()
    expected: bool = False

    @property
    def random(self) -> bool:
        return any(f.tensor.random for f in self.factors)

    def expression(self) -> sp.Expr:
        """The monomial as a SymPy expression."""
        split: dict[bool, list[sp.Expr]] = {True: [], False: []}
        for f in self.factors:
            split[f.tensor.random].append(Entry(f.tensor, *f.indices) ** f.exponent)
        inside = {i for f in self.factors if f.tensor.random for i in f.indices}
        outside = {i for f in self.factors if not f.tensor.random for i in f.indices}
        body = sp.Mul(*split[True])
        inner = [i for i in self.bound if i in inside - outside]
        if split[True]:
            body = total(body, *inner) if inner else body
            body = Expectation(body) if self.expected else body
        else:
            inner = []
        outer = [i for i in self.bound if i not in inner]
        body = sp.Mul(*split[False], body)
        return total(body, *outer) if outer else body


class NormalForm:
    """A finite sum in normal form; immutable, compared by ``==``.

    Build one with :func:`theory.sums.normal_form`.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, Any] | None = None) -> None:
        self.terms: dict[Monomial, Any] = {m: c for m, c in (terms or {}).items() if c}

    @classmethod
    def of(cls, terms: Iterable[tuple[Any, Iterable[Factor], Iterable[Index], bool]]) -> NormalForm:
        """Sum of raw terms ``(coefficient, factors, bound indices, expected)``."""
        collected: dict[Monomial, Any] = {}
        for coefficient, factors, bound, expected in terms:
            scale, monomial = canonical_term(list(factors), set(bound), expected)
            collected[monomial] = collected.get(monomial, COEFFICIENTS.zero) + coefficient * scale
        return cls(collected)

    @classmethod
    def constant(cls, value: sp.Expr) -> NormalForm:
        return cls({Monomial(()): COEFFICIENTS.from_sympy(sp.sympify(value))})

    def raw(self) -> Iterator[tuple[Any, tuple[Factor, ...], tuple[Index, ...], bool]]:
        """Terms with fresh bound indices, ready to be multiplied or summed further."""
        for monomial, coefficient in self.terms.items():
            names = {i: fresh(i) for i in monomial.bound}
            factors = tuple(f.renamed(names) for f in monomial.factors)
            yield coefficient, factors, tuple(names.values()), monomial.expected

    def __add__(self, other: NormalForm) -> NormalForm:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, COEFFICIENTS.zero) + coefficient
        return NormalForm(terms)

    def __neg__(self) -> NormalForm:
        return NormalForm({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: NormalForm) -> NormalForm:
        return self + (-other)

    def __mul__(self, other: NormalForm) -> NormalForm:
        products = []
        for left in self.raw():
            for right in other.raw():
                products.append(_multiply(left, right))
        return NormalForm.of(products)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NormalForm) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    @property
    def is_zero(self) -> bool:
        return not self.terms

    def summed(self, bound: Index) -> NormalForm:
        """Sum over the whole range of a free index."""
        return NormalForm.of((c, f, (*b, bound), e) for c, f, b, e in self.raw())

    def expected(self) -> NormalForm:
        """Expectation; deterministic terms are unchanged."""
        terms = []
        for coefficient, factors, bound, expected in self.raw():
            if expected:
                raise ExpectationError("an expectation inside an expectation")
            terms.append((coefficient, factors, bound, True))
        return NormalForm.of(terms)

    def inverse(self) -> NormalForm:
        """Multiplicative inverse of a single deterministic monomial without bound indices."""
        if len(self.terms) != 1:
            raise ValueError(f"only one monomial can be inverted, got {self.expression()}")
        ((monomial, coefficient),) = self.terms.items()
        if monomial.bound or monomial.random:
            raise ValueError(f"a sum or a random factor cannot be inverted: {self.expression()}")
        if any(f.tensor.idempotent and f.exponent > 0 for f in monomial.factors):
            raise ValueError(f"an entry that may be 0 cannot be inverted: {self.expression()}")
        factors = tuple(Factor(f.tensor, f.indices, -f.exponent) for f in monomial.factors)
        return NormalForm({Monomial(factors): 1 / coefficient})

    def expression(self) -> sp.Expr:
        """Back to SymPy, for printing and for evaluating a residue."""
        return sp.Add(*(COEFFICIENTS.to_sympy(c) * m.expression() for m, c in self.terms.items()))

    def __repr__(self) -> str:
        return f"NormalForm({self.expression()})"


def _multiply(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    left_random = any(f.tensor.random for f in left[1])
    right_random = any(f.tensor.random for f in right[1])
    if left_random and right_random and (left[3] or right[3]):
        raise ExpectationError("a product of two expectations, or of one with a random factor outside it")
    return (left[0] * right[0], (*left[1], *right[1]), (*left[2], *right[2]), left[3] or right[3])


def canonical_term(factors: list[Factor], bound: set[Index], expected: bool) -> tuple[Any, Monomial]:
    """Contract deltas, collect powers, count empty sums and name bound indices canonically."""
    factors = _contract(factors, bound)
    used = {i for f in factors for i in f.indices}
    coefficient = COEFFICIENTS.one
    for empty in bound - used:
        coefficient = coefficient * COEFFICIENTS.from_sympy(empty.range.size)
    expected = expected and any(f.tensor.random for f in factors)
    return coefficient, _least_renaming(factors, sorted(bound & used, key=lambda i: i.name), expected)


def _contract(factors: list[Factor], bound: set[Index]) -> list[Factor]:
    while True:
        factors = _collect(factors)
        for position, factor in enumerate(factors):
            if not is_delta(factor.tensor):
                continue
            first, second = factor.indices
            rest = factors[:position] + factors[position + 1 :]
            if first == second:
                factors = rest
                break
            if first in bound or second in bound:
                gone, kept = (first, second) if first in bound else (second, first)
                bound.discard(gone)
                factors = [f.renamed({gone: kept}) for f in rest]
                break
            low, high = sorted(factor.indices, key=lambda i: i.name)
            if any(high in f.indices for f in rest):
                factors = [factor, *(f.renamed({high: low}) for f in rest)]
                break
        else:
            return factors


def _collect(factors: list[Factor]) -> list[Factor]:
    powers: dict[tuple[Tensor, tuple[Index, ...]], int] = {}
    for f in factors:
        f = f.renamed({})
        powers[f.tensor, f.indices] = powers.get((f.tensor, f.indices), 0) + f.exponent
    return [
        Factor(tensor, indices, 1 if tensor.idempotent and power > 0 else power)
        for (tensor, indices), power in powers.items()
        if power
    ]


def _least_renaming(factors: list[Factor], bound: list[Index], expected: bool) -> Monomial:
    classes: dict[tuple[Any, ...], list[Index]] = {}
    for i, signature in _signatures(factors, bound).items():
        classes.setdefault((i.range.name, signature), []).append(i)
    groups = [classes[key] for key in sorted(classes)]
    count = 1
    for group in groups:
        for size in range(2, len(group) + 1):
            count *= size
    if count > _MOST_RENAMINGS:
        raise ValueError(f"{count} renamings of bound indices exceed the limit of {_MOST_RENAMINGS}; split the sum")
    best: tuple[list[Any], tuple[Factor, ...], tuple[Index, ...]] | None = None
    taken = {i.name for f in factors for i in f.indices} - {i.name for i in bound}
    for orders in itertools.product(*(itertools.permutations(g) for g in groups)):
        names = _canonical_names([i for order in orders for i in order], taken)
        renamed = sorted((f.renamed(names) for f in factors), key=lambda f: f.key)
        keys = [f.key for f in renamed]
        if best is None or keys < best[0]:
            best = (keys, tuple(renamed), tuple(names.values()))
    assert best is not None
    return Monomial(best[1], tuple(sorted(best[2], key=lambda i: i.name)), expected)


def _canonical_names(order: list[Index], taken: set[str]) -> dict[Index, Index]:
    unused = {r: _names_besides(r, taken) for r in {i.range for i in order}}
    return {i: Index(next(unused[i.range]), i.range) for i in order}


def _names_besides(range_: Range, taken: set[str]) -> Iterator[str]:
    names = (f"{range_.name[0]}_{number}" for number in itertools.count(1))
    return (name for name in names if name not in taken)


def _signatures(factors: list[Factor], bound: list[Index]) -> dict[Index, tuple[Any, ...]]:
    """An invariant of each bound index under renaming, refined twice by its neighbours' invariants."""
    colour: dict[Index, tuple[Any, ...]] = dict.fromkeys(bound, ())
    for _ in range(3):
        refined: dict[Index, tuple[Any, ...]] = {}
        for i in bound:
            seen = []
            for f in factors:
                for slot, held in enumerate(f.indices):
                    if held == i:
                        others = [repr(colour.get(o, o.name)) for s, o in enumerate(f.indices) if s != slot]
                        place = -1 if f.tensor.symmetric and slot < 2 else slot
                        seen.append((f.tensor.name, len(f.tensor.ranges), f.exponent, place, *sorted(others)))
            refined[i] = tuple(sorted(repr(s) for s in seen))
        colour = refined
    return colour

"""Symbols of the sum calculus: ranges, typed indices, tensors, expectation, capture-free substitution.

An index belongs to a range (positions ``1..L`` or features ``1..d``) and a tensor slot accepts only indices of its own
range, so that a transposed or mistyped formula fails when it is typed.  SymPy's own ``subs`` may capture a summation
index; :func:`substitute` renames bound indices first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

#: Sequence length L and token width d; both stay symbolic in every derivation.
length = sp.Symbol("L", integer=True, positive=True)
width = sp.Symbol("d", integer=True, positive=True)
#: Probability with which a token is masked in self-pretraining; symbolic too.
mask_ratio = sp.Symbol("ρ", positive=True)


class IndexTypeError(TypeError):
    """A tensor slot received an index of another range, or a wrong number of indices."""


@dataclass(frozen=True)
class Range:
    """A finite index range ``1..size`` with a symbolic size."""

    name: str
    size: sp.Symbol


POSITIONS = Range("positions", length)
FEATURES = Range("features", width)


class Index(sp.Symbol):
    """An index symbol that knows its range."""

    range: Range

    def __new__(cls, name: str, range_: Range) -> Index:
        made: Index = sp.Symbol.__xnew__(cls, name, integer=True, positive=True)
        made.range = range_
        return made

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.range.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Index, (self.name, self.range))


def index(name: str, range_: Range) -> Index:
    """An index called ``name`` over ``range_``."""
    return Index(name, range_)


_fresh_numbers = itertools.count(1)


def fresh(like: Index) -> Index:
    """An index of the same range that no other expression contains."""
    return Index(f"{like.name.split('~')[0]}~{next(_fresh_numbers)}", like.range)


def base(tex: str) -> str:
    """LaTeX that takes a subscript or a prime; a name that has one of its own is put into braces."""
    return f"{{{tex}}}" if "_" in tex or "^" in tex else tex


class Tensor(sp.Symbol):
    """A named array over index ranges, used as ``tensor[i, j]``.

    ``random`` entries may stand only inside an expectation when terms are added up; ``symmetric`` applies to the first
    two slots; ``idempotent`` means that every entry is 0 or 1.  ``definition`` writes an entry through more primitive
    symbols and is the only place where that formula is typed.  A name stands for one tensor: SymPy's caches may swap
    two symbols that are equal, and ``tex`` and ``definition`` do not tell them apart.
    """

    ranges: tuple[Range, ...]
    tex: str
    random: bool
    symmetric: bool
    idempotent: bool
    definition: Callable[..., sp.Expr] | None

    def __new__(
        cls,
        name: str,
        ranges: tuple[Range, ...],
        *,
        tex: str | None = None,
        random: bool = False,
        symmetric: bool = False,
        idempotent: bool = False,
        definition: Callable[..., sp.Expr] | None = None,
    ) -> Tensor:
        made: Tensor = sp.Symbol.__xnew__(cls, name)
        made.ranges, made.tex, made.random = ranges, tex or name, random
        made.symmetric, made.idempotent, made.definition = symmetric, idempotent, definition
        return made

    def _hashable_content(self) -> tuple[Any, ...]:
        flags = (self.random, self.symmetric, self.idempotent)
        return (*super()._hashable_content(), tuple(r.name for r in self.ranges), flags)

    # Without these SymPy takes the class name for one of its own tensors.
    def _latex(self, printer: Any) -> str:
        return self.tex

    def _sympystr(self, printer: Any) -> str:
        return str(self.name)

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Entry:
        return Entry(self, *(indices if isinstance(indices, tuple) else (indices,)))

    def formal_indices(self) -> tuple[Index, ...]:
        """One distinct index a slot, for stating a formula about every entry."""
        letters = {POSITIONS.name: iter("ijkl"), FEATURES.name: iter("cefg")}
        return tuple(index(next(letters[r.name]), r) for r in self.ranges)


class Entry(sp.Expr):
    """One entry of a :class:`Tensor`; does not depend on the path parameter."""

    is_commutative = True

    def __new__(cls, tensor: Tensor, *indices: Index) -> Entry:
        if len(indices) != len(tensor.ranges):
            raise IndexTypeError(f"{tensor.name} has {len(tensor.ranges)} slots, got {len(indices)} indices")
        for slot, (given, wanted) in enumerate(zip(indices, tensor.ranges, strict=True), start=1):
            if not isinstance(given, Index) or given.range != wanted:
                raise IndexTypeError(f"slot {slot} of {tensor.name} runs over {wanted.name}, got the index {given}")
        made: Entry = sp.Expr.__new__(cls, tensor, *indices)
        return made

    @property
    def tensor(self) -> Tensor:
        return self.args[0]

    @property
    def indices(self) -> tuple[Index, ...]:
        return self.args[1:]

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return set(self.indices)

    def unfold(self) -> sp.Expr:
        """The definition of the tensor at these indices."""
        if self.tensor.definition is None:
            raise ValueError(f"{self.tensor.name} is primitive and has no definition to unfold")
        return self.tensor.definition(*self.indices)

    def _latex(self, printer: Any) -> str:
        indices = " ".join(printer.doprint(i) for i in self.indices)
        return f"{base(self.tensor.tex)}_{{{indices}}}" if indices else str(self.tensor.tex)

    def _sympystr(self, printer: Any) -> str:
        indices = ",".join(printer.doprint(i) for i in self.indices)
        return f"{self.tensor.name}[{indices}]" if indices else str(self.tensor.name)


_position_delta = Tensor("δ", (POSITIONS, POSITIONS), tex=r"\delta", symmetric=True, idempotent=True)
_feature_delta = Tensor("δ", (FEATURES, FEATURES), tex=r"\delta", symmetric=True, idempotent=True)


def delta(first: Index, second: Index) -> sp.Expr:
    """Kronecker delta of two indices of one range."""
    if first == second:
        return sp.S.One
    tensor = _position_delta if first.range == POSITIONS else _feature_delta
    return tensor[tuple(sorted((first, second), key=lambda index_: index_.name))]


def is_delta(tensor: Tensor) -> bool:
    """Whether a tensor is one of the two Kronecker deltas."""
    return tensor in (_position_delta, _feature_delta)


class Expectation(sp.Expr):
    """Expectation over the law of tokens and label.

    Differentiating moves inside.  That interchange is automatic on a finite sample space and otherwise an assumption
    that every claim states.
    """

    is_commutative = True

    def __new__(cls, body: sp.Expr) -> sp.Expr:
        body = sp.sympify(body)
        return sp.S.Zero if body == 0 else sp.Expr.__new__(cls, body)

    def _eval_derivative(self, symbol: sp.Symbol) -> sp.Expr:
        return Expectation(sp.diff(self.args[0], symbol))

    def _latex(self, printer: Any) -> str:
        return rf"\mathbb{{E}}\left[{printer.doprint(self.args[0])}\right]"

    def _sympystr(self, printer: Any) -> str:
        return f"E[{printer.doprint(self.args[0])}]"


def total(body: sp.Expr, *indices: Index) -> sp.Sum:
    """The sum of ``body`` over the whole range of each index."""
    return sp.Sum(body, *((i, 1, i.range.size) for i in indices))


def substitute(expression: sp.Expr, replacements: Mapping[Index, Index]) -> sp.Expr:
    """Rename free indices; bound indices are renamed first, so that nothing is captured.

    >>> i, k = index("i", POSITIONS), index("k", POSITIONS)
    >>> pattern = Tensor("D", (POSITIONS, POSITIONS))
    >>> bound = substitute(total(pattern[i, k], k), {i: k})
    >>> bound.free_symbols - {length} == {k}
    True
    """
    if isinstance(expression, Index):
        return replacements.get(expression, expression)
    if isinstance(expression, Tensor) or not expression.args:
        return expression
    if isinstance(expression, sp.Sum):
        renamed = {bound: fresh(bound) for bound, *_ in expression.limits}
        outer = {k: v for k, v in replacements.items() if k not in renamed}
        limits = [(renamed[bound], low, high) for bound, low, high in expression.limits]
        return sp.Sum(substitute(expression.function, {**outer, **renamed}), *limits)
    return expression.func(*(substitute(a, replacements) for a in expression.args))

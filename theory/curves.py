"""Functions of the path parameter alpha with indexed values: attention, outputs, pooled vector, loss gradient.

A derivation speaks of ``o_ic(alpha)`` and ``o'_ic(0)`` by name; :meth:`CurveEntry.unfold` gives the definition behind
the name, differentiated by SymPy, so that the numeric replay never depends on a lemma.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from theory.sums import Entry, Index, Range, Tensor
from theory.sums.symbols import base

#: The path parameter: scores are alpha times the score pattern; alpha = 0 is uniform attention.
alpha = sp.Symbol("α", real=True)

_PRIMES = {0: "", 1: "′", 2: "″", 3: "‴"}


class Curve(sp.Symbol):
    """A named function of alpha whose values are indexed by ``ranges``.

    ``slope`` gives the derivative where it has a form of its own (a chain rule); else the derivative gets a prime.
    """

    ranges: tuple[Range, ...]
    tex: str
    random: bool
    definition: Callable[..., sp.Expr] | None
    slope: Callable[..., sp.Expr] | None

    def __new__(
        cls,
        name: str,
        ranges: tuple[Range, ...],
        *,
        tex: str | None = None,
        random: bool = False,
        definition: Callable[..., sp.Expr] | None = None,
        slope: Callable[..., sp.Expr] | None = None,
    ) -> Curve:
        made: Curve = sp.Symbol.__xnew__(cls, name)
        made.ranges, made.tex, made.random, made.definition = ranges, tex or name, random, definition
        made.slope = slope
        return made

    def __call__(self, *indices: Index, at: sp.Expr = alpha, order: int = 0) -> CurveEntry:
        """The entry, or its derivative of the given order, at a parameter value."""
        return CurveEntry(self, sp.Integer(order), sp.sympify(at), *indices)


class CurveEntry(sp.Expr):
    """One entry of a curve or of one of its derivatives, at alpha or at 0."""

    is_commutative = True

    @property
    def curve(self) -> Curve:
        return self.args[0]

    @property
    def order(self) -> int:
        return int(self.args[1])

    @property
    def at(self) -> sp.Expr:
        return self.args[2]

    @property
    def indices(self) -> tuple[Index, ...]:
        return self.args[3:]

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return set(self.indices) | self.at.free_symbols

    def _eval_derivative(self, symbol: sp.Symbol) -> sp.Expr:
        if symbol != self.at:
            return sp.S.Zero
        if self.curve.slope is not None:
            return self.curve.slope(*self.indices, at=self.at)
        return self.curve(*self.indices, at=self.at, order=self.order + 1)

    def as_entry(self) -> Entry:
        """The entry as an opaque tensor entry, for the normal form."""
        name = f"{self.curve.name}^({self.order})({self.at})"
        return Tensor(name, self.curve.ranges, random=self.curve.random)[self.indices]

    def unfold(self) -> sp.Expr:
        """The definition, differentiated ``order`` times and evaluated at the parameter."""
        if self.curve.definition is None:
            raise ValueError(f"{self.curve.name} has no definition to unfold")
        expression = self.curve.definition(*self.indices)
        for _ in range(self.order):
            expression = sp.diff(expression, alpha)
        return expression if self.at == alpha else expression.subs(alpha, self.at)

    def _latex(self, printer: Any) -> str:
        indices = " ".join(printer.doprint(i) for i in self.indices)
        primes = "'" * self.order
        return f"{base(self.curve.tex)}{primes}_{{{indices}}}({printer.doprint(self.at)})"

    def _sympystr(self, printer: Any) -> str:
        indices = ",".join(printer.doprint(i) for i in self.indices)
        return f"{self.curve.name}{_PRIMES.get(self.order, f'^({self.order})')}[{indices}]({printer.doprint(self.at)})"

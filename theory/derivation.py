"""Derivations: readable chains of checked steps from a definition to a statement.

Each step is computed (SymPy differentiates, sets alpha to 0, a lemma is cited) or typed and proved equal to the line
before by the normal form, modulo the rules that the step names.  A chain cannot be built past a wrong line.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

import sympy as sp

from theory.curves import CurveEntry, alpha
from theory.objects import pattern
from theory.printing import text, tidy
from theory.sums import Index, Rule, Tensor, delta, normal_form, residue, substitute
from theory.sums.symbols import Entry, fresh


class DerivationError(ValueError):
    """A typed line does not follow from the line before; carries the residue (new - old)."""

    def __init__(self, message: str, residue_: sp.Expr) -> None:
        super().__init__(message)
        self.residue = residue_


class Move(StrEnum):
    """How a line relates to the one before; the replay evaluates exactly this relation."""

    DEFINITION = "definition"
    DIFFERENTIATE = "differentiate in α"
    AT_ZERO = "set α = 0"
    LEMMA = "lemma"
    REWRITE = "equal by"
    COEFFICIENT = "read off the coefficient of Δ"


@dataclass(frozen=True)
class Step:
    """One line: what was done, the rules that proved it, and the resulting expression."""

    move: Move
    expression: sp.Expr
    rules: tuple[str, ...] = ()
    note: str = ""

    @property
    def rule(self) -> str:
        """The move with the names of its rules, as printed beside the line."""
        if self.move in (Move.REWRITE, Move.LEMMA):
            return f"{self.move} {', '.join(self.rules) or 'linearity and renaming'}"
        return f"{self.move}, by {', '.join(self.rules)}" if self.rules else str(self.move)


@dataclass(frozen=True)
class Lemma:
    """A proved equation about a curve, with formal indices; cited by name in later derivations.

    It holds for any mask, pooling and pattern, or in the ``setting`` and under the ``hypotheses`` (of
    :mod:`theory.claim`) that it names.
    """

    id: str
    title: str
    left: CurveEntry
    derivation: Derivation
    depends_on: tuple[str, ...] = ()
    setting: Any = None
    hypotheses: tuple[Any, ...] = ()

    @property
    def right(self) -> sp.Expr:
        return self.derivation.expression


@dataclass
class Derivation:
    """A chain under construction; every method appends one checked step and returns the chain."""

    start: sp.Expr
    note: str = "definition"
    steps: list[Step] = field(default_factory=list)
    cited: list[str] = field(default_factory=list)
    #: Cited lemmas that hold in a setting or under hypotheses of their own; a statement must grant those.
    conditional: list[Lemma] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._began = time.perf_counter()
        self._append(Move.DEFINITION, self.start, note=self.note)

    @property
    def expression(self) -> sp.Expr:
        """The last line."""
        return self.steps[-1].expression

    def _append(self, move: Move, expression: sp.Expr, rules: tuple[str, ...] = (), note: str = "") -> Derivation:
        self.steps.append(Step(move, tidy(expression), rules, note))
        self.seconds = time.perf_counter() - self._began
        return self

    def differentiate(self) -> Derivation:
        """Differentiate in alpha, by SymPy."""
        self._require_visible_alpha()
        return self._append(Move.DIFFERENTIATE, sp.diff(self.expression, alpha))

    def at_zero(self) -> Derivation:
        """Set alpha to 0 (uniform attention)."""
        self._require_visible_alpha()
        return self._append(Move.AT_ZERO, self.expression.subs(alpha, 0))

    def cite(self, *lemmas: Lemma) -> Derivation:
        """Replace every occurrence of the lemmas' left sides by their right sides."""
        expression = self.expression
        for lemma in lemmas:
            replaced = _replace(expression, lemma)
            if replaced == expression:
                raise DerivationError(f"lemma {lemma.id} does not occur in {text(expression)}", expression)
            expression = replaced
            self.cited.append(lemma.id)
            self.conditional += [lemma] if lemma.setting is not None else lemma.derivation.conditional
        return self._append(Move.LEMMA, expression, tuple(lemma.id for lemma in lemmas))

    def rewrite(self, expression: sp.Expr, *rules: Rule, note: str = "") -> Derivation:
        """Append a typed line; it must equal the line before modulo ``rules``, of which those that fired are named."""
        used: set[str] = set()
        difference = residue(expression, self.expression, rules, used)
        if not difference.is_zero:
            raise DerivationError(
                f"the line {text(expression)} does not follow from {text(self.expression)} "
                f"by {[r.name for r in rules]}: they differ by {text(difference.expression())}",
                difference.expression(),
            )
        return self._append(Move.REWRITE, expression, _fired(rules, used), note)

    def coefficient(self, expression: sp.Expr, row: Index, column: Index, *rules: Rule, note: str = "") -> Derivation:
        """Append the coefficient array of a line that is linear in the pattern (its gradient in the scores)."""
        self._require_linear(rules)
        i, j = (fresh(formal) for formal in pattern.formal_indices())
        unit = Rule("Δ = basis pattern", pattern[i, j], delta(i, row) * delta(j, column))
        used: set[str] = set()
        # The basis pattern stands in for Δ in the line alone: coefficients do not depend on Δ.
        difference = normal_form(expression, rules, used) - normal_form(self.expression, (unit, *rules), used)
        if not difference.is_zero:
            raise DerivationError(
                f"{text(expression)} is not the coefficient array of Δ in {text(self.expression)}: "
                f"they differ by {text(difference.expression())}",
                difference.expression(),
            )
        return self._append(Move.COEFFICIENT, expression, _fired(rules, used), note)

    def _require_visible_alpha(self) -> None:
        """SymPy takes a tensor for a constant; one that is defined through alpha must be unfolded first."""
        for node in sp.preorder_traversal(self.expression):
            if isinstance(node, Entry) and _depends_on_alpha(node.tensor):
                raise DerivationError(
                    f"{node.tensor.name} depends on α through its definition; unfold it before the line "
                    f"{text(self.expression)} is differentiated or taken at α = 0",
                    self.expression,
                )

    def _require_linear(self, rules: Sequence[Rule]) -> None:
        nodes = sp.preorder_traversal(self.expression)
        opaque = [node for node in nodes if hasattr(node, "as_entry") or isinstance(node, sp.exp)]
        line = normal_form(self.expression, rules)
        for monomial in line.terms:
            power = sum(f.exponent for f in monomial.factors if f.tensor == pattern)
            hidden = [f.tensor.name for f in monomial.factors if f.tensor != pattern and _depends_on_pattern(f.tensor)]
            if opaque or hidden or power != 1:
                raise DerivationError(
                    f"only a line that is linear in Δ, with everything that depends on Δ unfolded, has coefficients; "
                    f"got {text(self.expression)}",
                    self.expression,
                )

    def named(self, tensor: Tensor) -> bool:
        """Whether the last line mentions a tensor."""
        return any(isinstance(node, Entry) and node.tensor == tensor for node in sp.preorder_traversal(self.expression))


def _fired(rules: Sequence[Rule], used: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(r.name for r in rules if r.name in used))


@cache
def _depends_on_pattern(tensor: Tensor) -> bool:
    if tensor == pattern or tensor.definition is None:
        return bool(tensor == pattern)
    definition = tensor.definition(*tensor.formal_indices())
    return any(isinstance(n, Entry) and _depends_on_pattern(n.tensor) for n in sp.preorder_traversal(definition))


@cache
def _depends_on_alpha(tensor: Tensor) -> bool:
    if tensor.definition is None:
        return False
    nodes = list(sp.preorder_traversal(tensor.definition(*tensor.formal_indices())))
    return alpha in nodes or any(isinstance(n, Entry) and _depends_on_alpha(n.tensor) for n in nodes)


def _replace(expression: sp.Expr, lemma: Lemma) -> sp.Expr:
    left = lemma.left
    if isinstance(expression, CurveEntry):
        if (expression.curve, expression.order, expression.at) != (left.curve, left.order, left.at):
            return expression
        return substitute(lemma.right, dict(zip(left.indices, expression.indices, strict=True)))
    if isinstance(expression, (Entry, Index, Tensor)) or not expression.args:
        return expression
    return expression.func(*(_replace(a, lemma) for a in expression.args))

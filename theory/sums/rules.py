"""Rewriting rules on normal forms, and the decision of equality modulo a set of rules.

A rule replaces one monomial pattern by a normal form, for every choice of its free indices.  It is sound as long as
its equation is true: definitions, facts about masks, hypotheses.  A pattern index that the rule sums over matches only
an index that is summed in the term and stands nowhere else in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from theory.sums.normal_form import ExpectationError, Factor, Monomial, NormalForm
from theory.sums.symbols import Entry, Expectation, Index, Tensor, fresh, substitute, total

_MOST_REWRITES = 2_000


@dataclass(frozen=True)
class Rule:
    """``left = right`` for all values of the free indices, read from left to right.

    ``left`` must be one monomial.  ``name`` is what a derivation prints beside the step.  ``independent_of`` lists the
    random tensors of which those of a moment are independent: its expectation factors out of a product, as long as
    all other random factors are among them (no further factor of the moment, and nothing made of it).
    """

    name: str
    left: sp.Expr
    right: sp.Expr
    independent_of: tuple[Tensor, ...] = ()

    def __post_init__(self) -> None:
        form = normal_form(self.left)
        if len(form.terms) != 1:
            raise ValueError(f"the left side of a rule must be one monomial: rule {self.name!r}, left {self.left}")
        ((monomial, coefficient),) = form.terms.items()
        right = normal_form(self.right) * NormalForm({Monomial(()): 1 / coefficient})
        object.__setattr__(self, "_pattern", monomial)
        object.__setattr__(self, "_replacement", right)

    def apply(self, coefficient: Any, monomial: Monomial) -> NormalForm | None:
        """The term after one application, or ``None`` where the pattern does not occur."""
        pattern: Monomial = self._pattern  # type: ignore[attr-defined]
        if pattern.expected and not monomial.expected:
            return None
        for names, rest in _matches(list(pattern.factors), list(monomial.factors), {}):
            if not _bound_indices_fit(pattern, monomial, names, rest):
                continue
            if pattern.expected and any(f.tensor.random and f.tensor not in self.independent_of for f in rest):
                continue
            summed = [i for i in monomial.bound if i not in {names[b] for b in pattern.bound}]
            return self._assemble(coefficient, monomial, names, rest, summed)
        return None

    def _assemble(
        self, coefficient: Any, monomial: Monomial, names: dict[Index, Index], rest: list[Factor], summed: list[Index]
    ) -> NormalForm:
        pattern: Monomial = self._pattern  # type: ignore[attr-defined]
        replacement: NormalForm = self._replacement  # type: ignore[attr-defined]
        still_expected = monomial.expected and (bool(self.independent_of) or not pattern.expected)
        # A free index of the right side alone must not be caught by the term's own sums.
        own = {i: fresh(i) for i in summed}
        rest, summed = [f.renamed(own) for f in rest], list(own.values())
        names = {variable: own.get(value, value) for variable, value in names.items()}
        terms = []
        for scale, factors, bound, expected in replacement.raw():
            if expected and any(f.tensor.random for f in rest):
                raise ExpectationError(f"rule {self.name!r} puts an expectation beside a random factor")
            mapped = [f.renamed(names) for f in factors]
            terms.append((coefficient * scale, [*rest, *mapped], [*summed, *bound], expected or still_expected))
        return NormalForm.of(terms)


def _matches(
    pattern: list[Factor], factors: list[Factor], names: dict[Index, Index]
) -> Iterator[tuple[dict[Index, Index], list[Factor]]]:
    if not pattern:
        yield names, factors
        return
    wanted, *others = pattern
    for position, found in enumerate(factors):
        same_sign = found.exponent * wanted.exponent > 0 and abs(found.exponent) >= abs(wanted.exponent)
        if found.tensor != wanted.tensor or not same_sign:
            continue
        left = found.exponent - wanted.exponent
        remains = [Factor(found.tensor, found.indices, left)] if left else []
        for indices in _slot_orders(found):
            extended = _extend(names, wanted.indices, indices)
            if extended is not None:
                rest = factors[:position] + remains + factors[position + 1 :]
                yield from _matches(others, rest, extended)


def _slot_orders(factor: Factor) -> Iterator[tuple[Index, ...]]:
    yield factor.indices
    if factor.tensor.symmetric and factor.indices[0] != factor.indices[1]:
        yield (factor.indices[1], factor.indices[0], *factor.indices[2:])


def _extend(
    names: dict[Index, Index], pattern: tuple[Index, ...], found: tuple[Index, ...]
) -> dict[Index, Index] | None:
    extended = dict(names)
    for variable, value in zip(pattern, found, strict=True):
        if extended.setdefault(variable, value) != value:
            return None
    return extended


def _bound_indices_fit(pattern: Monomial, monomial: Monomial, names: dict[Index, Index], rest: list[Factor]) -> bool:
    images = [names[b] for b in pattern.bound]
    elsewhere = {i for f in rest for i in f.indices} | {v for k, v in names.items() if k not in pattern.bound}
    return (
        len(set(images)) == len(images)
        and all(i in monomial.bound for i in images)
        and not elsewhere.intersection(images)
    )


def reduce(form: NormalForm, rules: Sequence[Rule], used: set[str] | None = None) -> NormalForm:
    """Apply rules until none matches; names of the rules that fired are added to ``used``."""
    todo = form
    done = NormalForm()
    for _ in range(_MOST_REWRITES):
        if todo.is_zero:
            return done
        monomial, coefficient = next(iter(todo.terms.items()))
        todo = NormalForm({m: c for m, c in todo.terms.items() if m != monomial})
        for rule in rules:
            rewritten = rule.apply(coefficient, monomial)
            if rewritten is not None:
                if used is not None:
                    used.add(rule.name)
                todo = todo + rewritten
                break
        else:
            done = done + NormalForm({monomial: coefficient})
    raise RuntimeError(f"no normal form after {_MOST_REWRITES} rewrites; rules: {[r.name for r in rules]}")


def normal_form(expression: sp.Expr, rules: Sequence[Rule] = (), used: set[str] | None = None) -> NormalForm:
    """Normal form of a SymPy expression modulo ``rules``.

    Raises ``ValueError`` for a construct that the calculus does not cover (an exponential, say).
    """
    return reduce(_parse(sp.sympify(expression), rules, used), rules, used)


def _parse(expression: sp.Expr, rules: Sequence[Rule], used: set[str] | None) -> NormalForm:
    if hasattr(expression, "as_entry"):
        expression = expression.as_entry()
    if isinstance(expression, Entry):
        return NormalForm.of([(_ONE, [Factor(expression.tensor, expression.indices)], [], False)])
    if isinstance(expression, sp.Add):
        form = NormalForm()
        for argument in expression.args:
            form = form + _parse(argument, rules, used)
        return form
    if isinstance(expression, sp.Mul):
        form = NormalForm.constant(sp.S.One)
        for argument in expression.args:
            form = form * _parse(argument, rules, used)
        return form
    if isinstance(expression, sp.Pow) and expression.exp.is_Integer:
        return _power(reduce(_parse(expression.base, rules, used), rules, used), int(expression.exp))
    if isinstance(expression, sp.Sum):
        # Rules already act below the sum (on the base of a power), so its indices must differ from every free one.
        own = {bound: fresh(bound) for bound, *_ in expression.limits}
        form = _parse(substitute(expression.function, own), rules, used)
        for bound, low, high in expression.limits:
            if low != 1 or high != bound.range.size:
                raise ValueError(f"a sum must run over the whole range of {bound}: got {low}..{high}")
            form = form.summed(own[bound])
        return form
    if isinstance(expression, Expectation):
        return _parse(expression.args[0], rules, used).expected()
    if isinstance(expression, sp.exp):
        return NormalForm.of([(_ONE, [_opaque(expression)], [], False)])
    return NormalForm.constant(expression)


def _opaque(exponential: sp.exp) -> Factor:
    """``exp(symbol * entry)`` as an opaque factor with the entry's indices; products of such are not combined."""
    entries = [f for f in sp.Mul.make_args(exponential.args[0]) if isinstance(f, Entry)]
    rest = sp.Mul(*(f for f in sp.Mul.make_args(exponential.args[0]) if not isinstance(f, Entry)))
    if len(entries) != 1 or rest.has(Entry, sp.Sum, Index):
        raise ValueError(f"only exp(α·entry) has a normal form, got {exponential}")
    inner = entries[0].tensor
    name = f"exp({rest}·{inner.name})"
    return Factor(Tensor(name, inner.ranges, random=inner.random, symmetric=inner.symmetric), entries[0].indices)


def _power(base: NormalForm, exponent: int) -> NormalForm:
    base = base.inverse() if exponent < 0 else base
    form = NormalForm.constant(sp.S.One)
    for _ in range(abs(exponent)):
        form = form * base
    return form


_ONE = next(iter(NormalForm.constant(sp.S.One).terms.values()))


def residue(left: sp.Expr, right: sp.Expr, rules: Sequence[Rule] = (), used: set[str] | None = None) -> NormalForm:
    """Normal form of ``left - right`` modulo ``rules``; zero exactly when they prove the two equal."""
    return normal_form(sp.Add(left, -right), rules, used)


def equal(left: sp.Expr, right: sp.Expr, rules: Sequence[Rule] = ()) -> bool:
    """Whether the rules prove ``left = right``."""
    return residue(left, right, rules).is_zero


def definition_rule(tensor: Tensor, name: str | None = None) -> Rule:
    """The rule that replaces a tensor by its definition."""
    if tensor.definition is None:
        raise ValueError(f"{tensor.name} is primitive and has no definition to unfold")
    formal = tensor.formal_indices()
    return Rule(name or f"definition of {tensor.name}", tensor[formal], tensor.definition(*formal))


def sum_rule(name: str, tensor: Tensor, slot: int, value: sp.Expr) -> Rule:
    """The rule that the sum of a tensor over one slot is ``value`` for all other indices."""
    formal = list(tensor.formal_indices())
    bound = fresh(formal[slot])
    formal[slot] = bound
    return Rule(name, total(tensor[tuple(formal)], bound), value)


def rule_names(rules: Iterable[Rule]) -> list[str]:
    """Names in order, without repetition."""
    return list(dict.fromkeys(r.name for r in rules))

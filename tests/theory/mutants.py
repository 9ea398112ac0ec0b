"""Small mistakes in an expression, generated from its SymPy tree: what a slip of the pen would write."""

import sympy as sp

from theory.curves import CurveEntry
from theory.objects import centred, mask, pattern, second_moment
from theory.sums import POSITIONS, Entry, Index, Tensor, length, mask_ratio

#: Tensors that are easily mistaken for one another.
_CONFUSED = {centred: (pattern,), pattern: (centred,), mask: (second_moment,)}


def mutants(expression):
    """Pairs (kind of mistake, mutated expression), each with one mistake."""
    seen = {expression}
    for kind, mutant in _mutants(expression, frozenset(_indices(expression))):
        if mutant not in seen:
            seen.add(mutant)
            yield kind, mutant


def _indices(expression):
    return {s for s in sp.preorder_traversal(expression) if isinstance(s, Index)} & expression.free_symbols


def _mutants(expression, scope):
    if isinstance(expression, (Tensor, Index)):
        return
    yield from _here(expression, scope)
    if isinstance(expression, sp.Sum):
        inner = scope | {bound for bound, *_ in expression.limits}
        for kind, body in _mutants(expression.function, inner):
            yield kind, sp.Sum(body, *expression.limits)
    elif not isinstance(expression, (Entry, CurveEntry)):
        for place, argument in enumerate(expression.args):
            for kind, changed in _mutants(argument, scope):
                arguments = [*expression.args[:place], changed, *expression.args[place + 1 :]]
                yield kind, expression.func(*arguments)


def _here(expression, scope):
    if expression == length:
        yield "L for L − 1", length - 1
        yield "L for L + 1", length + 1
    if expression == mask_ratio:
        yield "1 − ρ for ρ", 1 - mask_ratio
    if isinstance(expression, Entry):
        yield from _entry_mutants(expression, scope)
    if isinstance(expression, sp.Add):
        for term in expression.args:
            yield "sign", expression - 2 * term
            yield "dropped term", expression - term
    if isinstance(expression, sp.Mul):
        for place in range(len(expression.args)):
            yield "dropped factor", sp.Mul(*expression.args[:place], *expression.args[place + 1 :])
    if isinstance(expression, sp.Pow) and expression.exp.is_Integer:
        yield "power", expression.base ** (expression.exp + (1 if expression.exp > 0 else -1))
        yield "power", expression.base ** (expression.exp - (1 if expression.exp > 0 else -1))
    if not isinstance(expression, sp.Symbol) and not expression.is_Number:
        yield "sign", -expression


def _entry_mutants(expression, scope):
    tensor, indices = expression.tensor, expression.indices
    if len(indices) == 2 and tensor.ranges[0] == tensor.ranges[1]:
        yield "transposed indices", tensor[indices[1], indices[0]]
    for place, old in enumerate(indices):
        for new in sorted((s for s in scope if s.range == old.range and s != old), key=str):
            yield "wrong index", tensor[(*indices[:place], new, *indices[place + 1 :])]
    for other in _CONFUSED.get(tensor, ()):
        yield f"{other.name} for {tensor.name}", other[indices]
    if tensor.ranges == (POSITIONS, POSITIONS) and tensor == centred:
        yield "dropped bar", pattern[indices]

"""A calculus of finite sums over symbolic ranges: typed indices, a normal form, sound rewriting rules.

SymPy differentiates a sum correctly but cannot decide that two sums are equal: dummies with different names, swapped
orders and Kronecker deltas of symbolic size all defeat ``simplify``.  Here equality of expressions built from sums,
products, tensors and one expectation is decided by a normal form.

>>> from theory.sums import POSITIONS, Tensor, equal, index, total
>>> i, j = index("i", POSITIONS), index("j", POSITIONS)
>>> pattern = Tensor("D", (POSITIONS, POSITIONS))
>>> equal(total(pattern[i, j], i, j), total(pattern[j, i], j, i))
True
"""

from theory.sums.normal_form import ExpectationError, NormalForm
from theory.sums.rules import Rule, definition_rule, equal, normal_form, residue
from theory.sums.symbols import (
    FEATURES,
    POSITIONS,
    Entry,
    Expectation,
    Index,
    IndexTypeError,
    Range,
    Tensor,
    delta,
    index,
    length,
    mask_ratio,
    substitute,
    total,
    width,
)

__all__ = [
    "FEATURES",
    "POSITIONS",
    "Entry",
    "Expectation",
    "ExpectationError",
    "Index",
    "IndexTypeError",
    "NormalForm",
    "Range",
    "Rule",
    "Tensor",
    "definition_rule",
    "delta",
    "equal",
    "index",
    "length",
    "mask_ratio",
    "normal_form",
    "residue",
    "substitute",
    "total",
    "width",
]

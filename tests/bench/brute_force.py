"""Proposition 1 without this project's calculus: SymPy at one concrete L, and the tensor language tensorgrad.

Both start at the paper's definition (full attention, mean pooling, a pattern with vanishing column sums) and end at the
difference between slope and statement, which must be 0.  One arbitrary sequence stands for the token law: both
slopes are linear in the law.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp


def sympy_residues(token_count: int, token_width: int) -> tuple[sp.Expr, sp.Expr]:
    """Slope minus claimed slope of both losses at this L and d, by ``diff`` and ``expand``; opaque label loss."""
    alpha = sp.Symbol("alpha")
    positions, features = range(token_count), range(token_width)
    tokens = sp.Matrix(token_count, token_width, lambda j, c: sp.Symbol(f"X_{j}_{c}"))
    free = sp.Matrix(token_count - 1, token_count, lambda i, j: sp.Symbol(f"Delta_{i}_{j}"))
    pattern = sp.Matrix.vstack(free, -sp.ones(1, token_count - 1) * free)  # the last row makes the columns sum to 0

    attention = []
    for i in positions:
        weights = [sp.exp(alpha * pattern[i, j]) for j in positions]
        attention.append([weight / sp.Add(*weights) for weight in weights])
    outputs = [[sp.Add(*(attention[i][j] * tokens[j, c] for j in positions)) for c in features] for i in positions]
    pooled = [sp.Add(*(outputs[i][c] for i in positions)) / token_count for c in features]
    supervised = sp.Function("loss")(*pooled)
    errors = sp.Add(*((tokens[i, c] - outputs[i][c]) ** 2 for i in positions for c in features))
    reconstruction = errors / (2 * token_count)

    centred = [[pattern[i, j] - sum(pattern[i, :]) / token_count for j in positions] for i in positions]
    moment = tokens * tokens.T
    claimed = -sp.Add(*(centred[i][j] * moment[i, j] for i in positions for j in positions)) / token_count**2
    slopes = [sp.diff(objective, alpha).subs(alpha, 0) for objective in (supervised, reconstruction)]
    return sp.expand(slopes[0]), sp.expand(slopes[1] - claimed)


def tensorgrad_residues(tensorgrad: Any, exponential: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Slope minus claimed slope of both losses for symbolic L and d; the label loss is linear, with any gradient."""
    functions, zero = tensorgrad.functions, tensorgrad.Zero()
    length, width = sp.symbols("L d")
    pattern = tensorgrad.Variable("Delta", i=length, j=length)
    pattern = pattern.with_eq_constraint(functions.sum(pattern, ["i"]), tensorgrad.Zero(j=length))
    tokens = tensorgrad.Variable("X", j=length, c=width)
    gradient, alpha = tensorgrad.Variable("g", c=width), tensorgrad.Variable("alpha")
    size = tensorgrad.Delta(length)

    weights = exponential(alpha @ pattern)
    outputs = (weights / functions.sum(weights, ["j"], keepdims=True)) @ tokens
    supervised = gradient @ functions.mean(outputs, "i")
    errors = outputs - tokens.rename(j="i")
    reconstruction = functions.sum(errors * errors) / (2 * size)

    centred = pattern - functions.mean(pattern, "j", keepdims=True)
    claimed = (-1) * functions.sum(centred * (tokens @ tokens.rename(j="i"))) / (size * size)
    slopes = [
        loss.grad(alpha).simplify().substitute(alpha, zero).full_simplify() for loss in (supervised, reconstruction)
    ]
    return slopes[0], (slopes[1] - claimed).full_simplify()

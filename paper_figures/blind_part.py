"""The blind part of a pattern under a mask, and its share of the pattern's energy, in exact rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Integer, Shaped

from numerics.blind_set import centre_rows, project_onto_blind_set
from numerics.errors import InputError
from numerics.evaluate import Environment
from numerics.rings import Rationals, to_fraction
from theory import objects
from theory.claim import Claim


def blind_projection(pattern: Integer[np.ndarray, "L L"], mask: Bool[np.ndarray, "L L"]) -> Shaped[np.ndarray, "L L"]:
    """Exact projection onto the patterns that mean-pooled labels cannot see under the mask: rationals, L x L."""
    length = len(mask)
    return project_onto_blind_set(pattern, mask, np.full(length, Fraction(1, length), dtype=object))


def blind_energy(pattern: Integer[np.ndarray, "L L"], mask: Bool[np.ndarray, "L L"]) -> Fraction:
    """Squared norm of the projection over that of the row-centred pattern, exactly (theory.md G3).

    Raises:
        InputError: if the pattern is constant on every row, where the ratio is undefined.

    >>> from numerics.patterns import score_pattern
    >>> blind_energy(score_pattern("alibi", 8).astype(np.int64), np.ones((8, 8), dtype=bool))
    Fraction(9, 10)
    """
    ring = Rationals()
    centred = centre_rows(ring.array(pattern), ring.array(mask.astype(np.int64)))
    whole, kept = (to_fraction((p * p).sum()) for p in (centred, blind_projection(pattern, mask)))
    if whole == 0:
        raise InputError("blind energy needs a pattern that varies along a row: this one is constant on every row")
    return kept / whole


def require_hypotheses(claim: Claim, pattern: Shaped[np.ndarray, "L L"], mask: Bool[np.ndarray, "L L"]) -> None:
    """Check that a pattern of exact rationals satisfies a claim's own hypotheses; else its statement predicts nothing.

    Raises:
        ArithmeticError: naming the claim and the hypothesis that is broken.

    >>> from theory.claims.proposition_1 import CLAIM
    >>> require_hypotheses(CLAIM, Rationals().array([[1, -1], [0, 0]]), np.ones((2, 2), dtype=bool))
    Traceback (most recent call last):
    ArithmeticError: the pattern breaks a hypothesis of P1: column sums of Δ vanish
    """
    ring = Rationals()
    arrays = {objects.pattern: pattern, objects.mask: ring.array(mask.astype(np.int64))}
    environment = Environment(ring, len(mask), 1, {tensor: (("i", "j"), held) for tensor, held in arrays.items()})
    for hypothesis in claim.hypotheses:
        if (environment.evaluate(hypothesis.expression, hypothesis.free) != 0).any():
            raise ArithmeticError(f"the pattern breaks a hypothesis of {claim.id}: {hypothesis.name}")

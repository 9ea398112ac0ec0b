"""All claims and lemmas, by identifier."""

from __future__ import annotations

from theory import composition as layers
from theory import masking, query_key, softmax
from theory.claim import Claim
from theory.claims import (
    blind_energy,
    blind_set,
    composition,
    diagonal_mask,
    first_order,
    global_blindness,
    masked_objective,
    other_illnesses,
    proposition_1,
    second_order,
    two_gradients,
    visible_directions,
)
from theory.claims import query_key as query_key_claims
from theory.derivation import Lemma

_CLAIMS = {
    claim.id: claim
    for claim in (
        proposition_1.CLAIM,
        diagonal_mask.CLAIM,
        first_order.CLAIM,
        blind_set.CLAIM,
        *blind_energy.CLAIMS,
        second_order.CLAIM,
        global_blindness.CLAIM,
        composition.CLAIM,
        masked_objective.CLAIM,
        two_gradients.CLAIM,
        other_illnesses.CLAIM,
        *query_key_claims.CLAIMS,
        *visible_directions.CLAIMS,
    )
}


def claims() -> tuple[Claim, ...]:
    """Every claim, the paper's own first."""
    return tuple(_CLAIMS.values())


def find_claim(identifier: str) -> Claim:
    """The claim with this identifier; ``KeyError`` names the known ones."""
    if identifier not in _CLAIMS:
        raise KeyError(f"unknown claim: {identifier}; known claims: {', '.join(_CLAIMS)}")
    return _CLAIMS[identifier]


def lemmas() -> tuple[Lemma, ...]:
    """Lemmas that derivations cite, each with its own derivation."""
    return tuple(make() for module in (softmax, layers, masking, query_key, global_blindness) for make in module.LEMMAS)

"""All claims and lemmas, by identifier."""

from __future__ import annotations

from theory.claim import Claim
from theory.claims import blind_set, diagonal_mask, first_order, proposition_1, second_order, two_gradients
from theory.derivation import Lemma
from theory.softmax import LEMMAS

_CLAIMS = {
    module.CLAIM.id: module.CLAIM
    for module in (proposition_1, diagonal_mask, first_order, blind_set, second_order, two_gradients)
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
    return tuple(make() for make in LEMMAS)

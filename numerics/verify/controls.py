"""Controls: what each route must reject, so that a route that has gone blind is noticed."""

from __future__ import annotations

from dataclasses import replace

from sympy import preorder_traversal

from numerics.instances import Instance
from numerics.refutation import residues_of_sides
from numerics.rings import PRIME
from theory.claim import Part
from theory.derivation import Derivation
from theory.objects import centred_moment, gradient_moment
from theory.sums import Entry, length

UNREJECTED = "the control, a statement that is off by 1/L, was not rejected"


def off_by_a_little(part: Part) -> Part:
    """The control of a part: its statement off by 1/L, which every route must reject."""
    return replace(part, statement=part.statement + 1 / length)


def derives(part: Part) -> bool:
    """Whether a part's derivation reaches its statement."""
    try:
        part.derivation()
    except ValueError:
        return False
    return True


def idle(part: Part) -> Derivation:
    """A chain that starts at its own end and so derives nothing."""
    return Derivation(part.statement, note="no derivation at all").rewrite(part.statement)


def starts_at_product(part: Part, chain: Derivation, instance: Instance) -> bool:
    """A product of gradients has a first line of its own: it is held against the definition modulo the prime.

    On a chain whose product vanishes this says little, so the product is also taken with one gradient replaced by the
    uncentred one: both gradients must stand in the first line.
    """
    true, first = residues_of_sides(replace(part, statement=chain.steps[0].expression), instance)
    named = {node.tensor for node in preorder_traversal(chain.steps[0].expression) if isinstance(node, Entry)}
    return bool(((true - first) % PRIME == 0).all()) and {centred_moment, gradient_moment} <= named

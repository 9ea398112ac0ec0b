"""Controls: what each route must reject, so that a route that has gone blind is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sympy import Add, preorder_traversal

from numerics.evaluate import KNOWN, Environment
from numerics.instances import Instance
from numerics.refutation import residues_of_sides
from numerics.rings import PRIME, PrimeField
from theory.claim import Claim, Part
from theory.derivation import Derivation
from theory.geometry import RING, TORUS, OffsetTable
from theory.objects import centred_moment, gradient_moment, mask, pattern
from theory.sums import Entry, Index, length

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


def unsound_offsets(claim: Claim) -> list[str]:
    """What is false of relative positions, on patterns and masks made from the table of offsets alone.

    A hypothesis must grant *every* such pattern (one that grants fewer would narrow its claim unseen), and the rules
    that name scores, exponentials and the denominator must be true, not only cancel out of the lines that use them.
    """
    held = {hypothesis for part in claim.parts for hypothesis in part.hypotheses}
    groups = [group for group in (RING, TORUS) if group.constraint in held]
    return [f"{group.name}: {name}" for group in groups for name in _false_of_offsets(group)]


def _false_of_offsets(group: OffsetTable) -> Iterator[str]:
    rules = (group.constraint.rule, group.mask_rule, *group.softmax_rules, *group.table_rules)
    stated = [(rule.name, Add(rule.left, -rule.right)) for rule in rules]
    environment = _of_offsets(group)
    for name, difference in [(group.constraint.name, group.constraint.expression), *stated]:
        free = sorted((s for s in difference.free_symbols if isinstance(s, Index)), key=str)
        if any((series % PRIME != 0).any() for series in environment.series(difference, free)):
            yield name


def _of_offsets(group: OffsetTable, token_count: int = 6) -> Environment:
    """Scores drawn at random for every offset, and a mask that allows all offsets but two."""
    table = KNOWN[group.table](token_count).astype(np.int64)
    allowed = np.ones(token_count, dtype=np.int64)
    allowed[[1, token_count - 1]] = 0
    scores = np.random.default_rng(token_count).integers(1, PRIME, token_count)
    arrays = {tensor: (("i", "j"), table @ values) for tensor, values in ((pattern, scores), (mask, allowed))}
    return Environment(PrimeField(), token_count, 1, arrays, order=3)

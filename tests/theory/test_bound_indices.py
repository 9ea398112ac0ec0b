"""No definition captures an index: what it sums over differs from every index that it is called with.

A definition is called with the indices of whichever formula it is unfolded in, so every choice of names is tried.
"""

import itertools

import pytest
import sympy as sp

from tests.theory.brute_force import placements, setting_model, value, with_kept_bits
from tests.theory.reach import LETTERS, formal, reachable
from theory.claim import Setting
from theory.claims.query_key import label_gradient, masked_moment, reconstruction_gradient
from theory.masking import kept
from theory.printing import tidy
from theory.query_key import bilinear_form, places
from theory.sums import FEATURES, POSITIONS, Index, Tensor, normal_form, substitute, total

TENSORS, CURVES = reachable()


def _definitions():
    """Name, ranges of the arguments, and the function from indices to an expression."""
    for tensor in TENSORS:
        if tensor.definition is not None:
            yield f"tensor {tensor.name}", tensor.ranges, tensor.definition
    for curve in CURVES:
        if curve.definition is not None:
            yield f"curve {curve.name}", curve.ranges, curve.definition
        if curve.slope is not None:
            yield f"slope of {curve.name}", curve.ranges, lambda *at, curve=curve: curve.slope(*at, at=sp.S.Zero)
    yield "label gradient", (FEATURES, FEATURES), label_gradient
    yield "reconstruction gradient", (FEATURES, FEATURES), reconstruction_gradient
    yield "masked moment", (POSITIONS, POSITIONS), masked_moment
    yield "bilinear form", (POSITIONS, POSITIONS), lambda i, j: bilinear_form(places, i, j)


DEFINITIONS = list(_definitions())


def choices(ranges):
    """Every choice of customary letters for the slots; a letter may stand in two slots."""
    for names in itertools.product(*(LETTERS[r] for r in ranges)):
        yield tuple(Index(n, r) for n, r in zip(names, ranges, strict=True))


def bound(expression):
    return {limit[0] for node in sp.preorder_traversal(expression) if isinstance(node, sp.Sum) for limit in node.limits}


def captured(definition, ranges):
    """The first choice of indices of which the definition sums over one."""
    return next((at for at in choices(ranges) if bound(definition(*at)) & {*at}), None)


def test_the_walk_reaches_what_the_claims_are_made_of():
    names = {tensor.name for tensor in TENSORS} | {curve.name for curve in CURVES}
    assert {"T̄", "Σ̂", "x̄", "R", "JCJ", "φ_ring", "exp_torus", "Z_ring", "ψ", "N_W", "Ḡ", "‖ω‖²", "Q_r", "A"} <= names
    assert {"õ", "aM", "oM", "hM", "hf", "hrf", "o2", "h2", "∂ℓM", "∂Λf"} <= names
    assert len(DEFINITIONS) >= 50


@pytest.mark.parametrize(("ranges", "definition"), [d[1:] for d in DEFINITIONS], ids=[d[0] for d in DEFINITIONS])
def test_a_definition_sums_over_none_of_its_own_indices(ranges, definition):
    assert captured(definition, ranges) is None


@pytest.mark.parametrize(("ranges", "definition"), [d[1:] for d in DEFINITIONS], ids=[d[0] for d in DEFINITIONS])
def test_a_definition_means_the_same_under_other_names(ranges, definition):
    """Called with other indices, or with one index twice, it is what renaming its formal indices gives."""
    at_formal = definition(*formal(ranges))
    by_length = sorted(choices(ranges), key=lambda at: len({*at}))
    for at in (*by_length[:1], *by_length[1:-1:7], *by_length[-1:]):
        renamed = substitute(at_formal, dict(zip(formal(ranges), at, strict=True)))
        try:
            same = normal_form(definition(*at)) == normal_form(renamed)
        except ValueError:  # softmax divides by a sum of exponentials, which has no normal form
            same = tidy(definition(*at)) == tidy(renamed)
        assert same, at


def test_a_definition_that_captures_is_noticed():
    """The mistake that was made: ``Σ_ij W_ijk`` called at k = i."""
    i, j = Index("i", POSITIONS), Index("j", POSITIONS)
    table = Tensor("W", (POSITIONS, POSITIONS, POSITIONS), idempotent=True)
    assert captured(lambda k: total(table[i, j, k], i, j), (POSITIONS,)) == (i,)
    assert captured(lambda k, q: total(table[i, k, q], i), (POSITIONS, POSITIONS)) == (i, i)


SYMMETRIC = [t for t in TENSORS if t.symmetric and t.definition is not None]
RANDOM = [t for t in TENSORS if t.random and t.definition is not None]


@pytest.mark.parametrize("tensor", SYMMETRIC, ids=lambda tensor: tensor.name)
def test_what_is_flagged_symmetric_is_symmetric(tensor):
    """The normal form swaps the first two slots of such a tensor without asking."""
    first, second = tensor.formal_indices()[:2]
    model = setting_model(Setting(), (), 3, token_count=3)
    pairs = [(value(tensor[first, second], model, names, 0), value(tensor[second, first], model, names, 0))
             for names in placements([first, second], model)]  # fmt: skip
    assert all(a == b for a, b in pairs)
    assert len({a for a, _ in pairs}) > 1


def test_every_flagged_object_is_among_them():
    assert {"C", "J", "JCJ", "S", "Σ̂", "PPᵀ", "EΣ̂", "Q"} == {tensor.name for tensor in SYMMETRIC}


@pytest.mark.parametrize("tensor", [t for t in TENSORS if t.definition is not None], ids=lambda tensor: tensor.name)
def test_a_tensor_is_flagged_random_exactly_when_its_definition_is(tensor):
    """An entry that is taken for a constant would leave its expectation."""
    at = tensor.formal_indices()
    if not tensor.random:
        assert not any(monomial.random and not monomial.expected for monomial in _terms(tensor.definition(*at)))
    else:
        assert any(monomial.random for monomial in _terms(tensor.definition(*at)))


def _terms(expression):
    return normal_form(expression).terms


def test_names_of_tensors_are_unique():
    """SymPy's caches may swap symbols that are equal: one name, one definition."""
    held: dict[tuple, Tensor] = {}
    for tensor in TENSORS:
        key = (tensor.name, tuple(r.name for r in tensor.ranges))
        assert held.setdefault(key, tensor) == tensor, key
    assert len({curve.name for curve in CURVES}) == len(CURVES)


def test_kept_bits_are_a_law_whose_probabilities_sum_to_one():
    model = with_kept_bits(setting_model(Setting(), (), 1, token_count=3))
    (j,) = kept.formal_indices()
    assert sum(model.weights) == 1
    assert len(model.weights) == 2 * 2**3
    assert {value(kept[j], model, {j: 0}, s) for s in range(len(model.weights))} == {0, 1}

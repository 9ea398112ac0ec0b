"""Blind energy (G3, N4) and visible directions (N1, N3): closed forms against exact projectors, ranks and autograd."""

from __future__ import annotations

import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from numerics.blind_set import centre_rows, constraint_matrix, project_onto_blind_set
from numerics.instances import random_instance
from numerics.patterns import score_pattern
from numerics.real import project_in_floats
from numerics.rings import Rationals, to_fraction
from numerics.tolerance import UNIT_ROUNDOFF
from tests.numerics.models import blind_pattern, diagonal, full, mean, rationals
from theory import find_claim
from theory.claims.blind_energy import BLIND_ENERGY, ENERGY, VISIBLE_ENERGY
from theory.hypotheses import zero_pooled_key_weight


def _distance(count):
    return np.abs(np.subtract.outer(np.arange(count), np.arange(count)))


def _energy(pattern):
    return sum(to_fraction(v) ** 2 for v in np.asarray(pattern).ravel())


def _blind_share(pattern, mask, pooling=None):
    """β of the design notes, exactly, by the projector."""
    count = len(mask)
    projected = project_onto_blind_set(pattern, mask, mean(count) if pooling is None else pooling)
    keys = [Fraction(int(n)) for n in mask.sum(1)]
    kept = pattern * mask
    centred = (kept - (kept.sum(1) / np.array(keys, dtype=object))[:, None]) * mask
    return _energy(projected) / _energy(centred)


@pytest.mark.parametrize("count", range(2, 10))
def test_the_closed_form_of_alibi_is_the_projectors_share_exactly(count):
    share = Fraction(4 * (2 * count**2 + 7), 3 * (3 * count**2 + 8))
    assert _blind_share(-_distance(count).astype(object), full(count)) == share
    assert (share == 1) == (count == 2)


def test_the_mask_matters_alibi_at_length_eight():
    alibi = -_distance(8).astype(object)
    masks = {"full": full(8), "diagonal": diagonal(8), "causal": np.tril(full(8))}
    shares = {name: float(_blind_share(alibi, mask)) for name, mask in masks.items()}
    assert {name: round(share, 2) for name, share in shares.items()} == {"full": 0.90, "diagonal": 0.78, "causal": 0.03}


@pytest.mark.parametrize("count", [3, 5, 8])
def test_identity_and_circulant_patterns_are_all_blind(count):
    circulant = rationals(np.random.default_rng(count), count)[(np.arange(count)[:, None] - np.arange(count)) % count]
    assert _blind_share(np.eye(count, dtype=int).astype(object), full(count)) == 1
    assert _blind_share(circulant, full(count)) == 1
    assert _blind_share(circulant, diagonal(count)) == 1
    assert _blind_share(circulant, full(count), np.eye(count, dtype=int)[0].astype(object)) < 1


@pytest.mark.parametrize("seed", range(4))
def test_the_energies_of_the_claim_are_those_of_the_projector(seed):
    part = find_claim("G3").parts[4]
    instance = random_instance(part, 3 + seed, 1, 1, np.random.default_rng(seed))
    environment = instance.environment(Rationals())
    energy, blind, visible = (to_fraction(environment.evaluate(e)[()]) for e in (ENERGY, BLIND_ENERGY, VISIBLE_ENERGY))
    assert blind == _energy(project_onto_blind_set(instance.pattern, instance.mask, instance.pooling))
    assert energy == blind + visible
    assert visible > 0


# --- the table of N4, at L = 1024 ------------------------------------------------------------------------------------

SIDE = 32
LONG = SIDE * SIDE


def _window(width):
    return (_distance(LONG) <= width).astype(np.int64)


def _neighbourhood():
    rows, columns = np.divmod(np.arange(LONG), SIDE)
    near = [np.abs(np.subtract.outer(axis, axis)) <= 1 for axis in (rows, columns)]
    return (near[0] & near[1]).astype(np.int64)


def _visible_share(pattern):
    """1 − β of an integer pattern, exactly, by the energies of N4 for full attention."""
    count = len(pattern)
    rows, columns = ([int(v) for v in pattern.sum(axis)] for axis in (1, 0))
    energy = int((pattern.astype(object) ** 2).sum()) - Fraction(sum(r * r for r in rows), count)
    visible = (sum(c * c for c in columns) - Fraction(sum(columns) ** 2, count)) / count
    return visible / energy


@pytest.mark.parametrize(
    ("pattern", "low", "high"),
    [
        (_window(32), 2.5e-4, 3.5e-4),
        (_window(8), 0, 5e-5),
        (_neighbourhood(), 0.5e-4, 1.5e-4),
        (-_distance(LONG), 0.1105, 0.1115),
    ],
    ids=["window ±32", "window ±8", "3 × 3 neighbourhood", "ALiBi"],
)
def test_labels_see_next_to_nothing_of_usual_patterns(pattern, low, high):
    share = _visible_share(pattern)
    assert low < share < high


def test_labels_see_one_ninth_of_alibi_less_what_the_length_takes():
    count = LONG
    assert _visible_share(-_distance(count)) == 1 - Fraction(4 * (2 * count**2 + 7), 3 * (3 * count**2 + 8))
    assert abs(_visible_share(-_distance(count)) - Fraction(1, 9)) < Fraction(1, count**2)


@pytest.mark.parametrize("shift", [0, 1], ids=["log of the distance", "log of one more"])
def test_labels_see_three_percent_of_the_logarithm_of_the_distance(shift):
    """Two readings of the table's entry, since log 0 has no value; J is the projector for full attention."""
    pattern = -np.log(np.maximum(_distance(LONG) + shift, 1))
    projected = pattern - pattern.mean(0) - pattern.mean(1)[:, None] + pattern.mean()
    share = 1 - (projected**2).sum() / (centre_rows(pattern, np.ones_like(pattern)) ** 2).sum()
    assert 0.025 < share < 0.035


def test_the_float_projector_gives_the_same_share():
    short = score_pattern("alibi", 64)
    projected = project_in_floats(short, full(64), np.full(64, 1 / 64))
    share = 1 - (projected**2).sum() / (centre_rows(short, np.ones_like(short)) ** 2).sum()
    # The solver works to about 1e-13 of the pattern, and energies sum 64² squares.
    assert share == pytest.approx(float(_visible_share(-_distance(64))), abs=1e-11)


# --- N1: losses of pooled views --------------------------------------------------------------------------------------

COUNT, WIDTH, BATCH = 5, 3, 4


def _contrast(scores, views, temperature=0.5):
    """In-batch InfoNCE of two mean-pooled views of each sequence, with one attention for all."""
    attention = torch.softmax(scores, dim=1)
    first, second = (torch.nn.functional.normalize((attention @ view).mean(1), dim=1) for view in views)
    logits = first @ second.T / temperature
    return torch.nn.functional.cross_entropy(logits, torch.arange(BATCH))


def _per_token(scores, views):
    """A contrast of single tokens sees what pooled vectors do not."""
    attention = torch.softmax(scores, dim=1)
    first, second = (torch.nn.functional.normalize(attention @ view + view, dim=2).reshape(-1, WIDTH) for view in views)
    return torch.nn.functional.cross_entropy(first @ second.T, torch.arange(BATCH * COUNT))


def _gradient(loss):
    views = torch.as_tensor(np.random.default_rng(0).standard_normal((2, BATCH, COUNT, WIDTH)))
    scores = torch.zeros(COUNT, COUNT, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(loss(scores, views), scores)[0].numpy()


def _rounding(gradient, pattern):
    """Chains of a few hundred roundings, of terms that the gradient's own entries bound times the condition 10."""
    steps = 10 * (6 * COUNT + 4 * WIDTH + 4 * BATCH + 60)
    return steps * UNIT_ROUNDOFF * float(np.abs(gradient).max() * np.abs(pattern).sum())


@pytest.mark.parametrize("seed", range(3))
def test_a_contrast_of_pooled_views_has_no_slope_on_the_blind_set(seed):
    gradient = _gradient(_contrast)
    rng = np.random.default_rng(seed)
    blind = blind_pattern(full(COUNT), mean(COUNT), rng).astype(float)
    other = rng.standard_normal((COUNT, COUNT))
    assert abs((gradient * blind).sum()) <= _rounding(gradient, blind)
    assert abs((gradient * other).sum()) > 1e6 * _rounding(gradient, other)
    # Vertical stripes: the gradient is one row, repeated (N2).
    assert np.abs(gradient - gradient[0]).max() <= _rounding(gradient, np.ones(1))


def test_a_contrast_of_single_tokens_sees_the_blind_set():
    gradient = _gradient(_per_token)
    blind = blind_pattern(full(COUNT), mean(COUNT), np.random.default_rng(1)).astype(float)
    assert abs((gradient * blind).sum()) > 1e6 * _rounding(gradient, blind)


# --- N3: how many directions probes see ------------------------------------------------------------------------------


def _probes(rank, rows, count, rng):
    """A random integer probe matrix of this rank."""
    while True:
        made = rng.integers(-3, 4, (rows, rank)) @ rng.integers(-3, 4, (rank, count))
        if flint.fmpq_mat(made.tolist()).rank() == rank:
            return made


@pytest.mark.parametrize(
    ("count", "rank"), [(count, rank) for count in (2, 3, 4, 5, 6) for rank in range(1, count + 1)]
)
def test_probes_of_rank_r_see_exactly_r_times_one_less_than_the_length_directions(count, rank):
    rng = np.random.default_rng(10 * count + rank)
    probes = _probes(rank, min(count, rank + 1), count, rng)
    rows = list(
        itertools.chain.from_iterable(
            constraint_matrix([zero_pooled_key_weight], full(count), probe.astype(object)) for probe in probes
        )
    )
    matrix = flint.fmpq_mat([[flint.fmpq(v.numerator, v.denominator) for v in row] for row in rows])
    assert matrix.rank() == rank * (count - 1)


def test_a_cls_token_sees_as_many_directions_as_the_mean_in_another_row():
    """One row of the pattern each: the CLS token's own, or every row alike."""
    ranks, spans = [], []
    for pooling in (mean(4), np.eye(4, dtype=int)[2].astype(object)):
        rows = constraint_matrix([zero_pooled_key_weight], full(4), pooling)
        spans.append([[flint.fmpq(v.numerator, v.denominator) for v in row] for row in rows])
        ranks.append(flint.fmpq_mat(spans[-1]).rank())
    assert ranks == [3, 3]
    assert flint.fmpq_mat([*spans[0], *spans[1]]).rank() == 6

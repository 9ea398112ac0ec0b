"""The rule gives the right answer where the answer is known, and every number covers what it estimates."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.audit.intervals import Estimate, exact, of_function, of_groups, of_mean
from numerics.audit.labels import SHIFT
from numerics.audit.run import AuditOptions, audit
from numerics.audit.verdict import RULE, Findings, Outcome, outcome, sequences_needed
from numerics.inputs import SymbolData, TokenData
from numerics.patterns import score_pattern
from numerics.structured.scores import named_scores
from numerics.structured.slopes import sequence_slopes

LENGTH = 24
RNG = np.random.default_rng(7)
WALK = RNG.standard_normal((64, LENGTH, 1)).cumsum(axis=1)
NOISE = RNG.standard_normal((64, LENGTH, 1))


def data(tokens):
    return TokenData("made", np.asarray(tokens, dtype=np.float64), np.zeros(len(tokens), dtype=np.int64))


def holds(estimate, value):
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= value <= estimate.high


def symbols(ids):
    return SymbolData("made", np.asarray(ids), None)


@pytest.fixture(scope="module")
def patterns(tmp_path_factory):
    folder = tmp_path_factory.mktemp("patterns")
    np.save(folder / "far.npy", -score_pattern("alibi", LENGTH))
    np.save(folder / "stripes.npy", np.tile(np.cos(np.arange(LENGTH)), (LENGTH, 1)))
    np.save(folder / "flat.npy", np.full((LENGTH, LENGTH), 0.1))
    return folder


def verdict(held, folder=None, **options):
    if "pattern" in options and options["pattern"].endswith(".npy"):
        options["pattern"] = str(folder / options["pattern"])
    return audit(held, AuditOptions(positions="sinusoidal:8", **options))


REPEATED = np.repeat(RNG.integers(0, 6, (64, LENGTH // 4)), 4, axis=1)
KNOWN = [
    ("a random walk is local", data(WALK), {}, Outcome.WOULD_HELP),
    ("a periodic pattern is blind, and local enough", data(WALK), {"pattern": "periodic"}, Outcome.WOULD_HELP),
    ("symbols come in runs", symbols(REPEATED), {"pattern": "gaussian:2"}, Outcome.WOULD_HELP),
    ("at a low ratio too", data(WALK), {"mask_ratio": 0.15}, Outcome.WOULD_HELP),
    ("the opposite pattern", data(WALK), {"pattern": "far.npy"}, Outcome.PUSHES_AWAY),
    ("alternating tokens", data(NOISE[:, :1] * np.cos(np.pi * np.arange(LENGTH))[:, None] + 0.1 * NOISE),
     {"pattern": "window:1", "mask": "diagonal"}, Outcome.PUSHES_AWAY),
    ("masked positions hold nothing of themselves", data(WALK), {"pattern": "identity"}, Outcome.PUSHES_AWAY),
    ("independent tokens", data(NOISE), {}, Outcome.NOTHING_TO_LEARN),
    ("independent tokens with a mean", data(NOISE + 3), {"pattern": "gaussian:3"}, Outcome.NOTHING_TO_LEARN),
    ("independent tokens of unequal size", data(NOISE * np.arange(1, LENGTH + 1)[:, None]), {},
     Outcome.NOTHING_TO_LEARN),
    ("independent symbols", symbols(RNG.integers(0, 6, (64, LENGTH))), {}, Outcome.NOTHING_TO_LEARN),
    ("independent tokens, self scores", data(NOISE), {"pattern": "identity"}, Outcome.NOTHING_TO_LEARN),
    ("stripes are what labels see", data(WALK), {"pattern": "stripes.npy"}, Outcome.LABELS_SEE_IT),
    ("one query reads all of its row", data(WALK), {"pooling": "cls:3"}, Outcome.LABELS_SEE_IT),
    ("the causal mask unbalances the keys", data(WALK), {"mask": "causal"}, Outcome.LABELS_SEE_IT),
    ("all tokens alike", data(np.repeat(NOISE[:, :1], LENGTH, axis=1)), {}, Outcome.RANK_COLLAPSED),
    ("all symbols alike", symbols(np.repeat(np.arange(9)[:, None], LENGTH, axis=1)), {}, Outcome.RANK_COLLAPSED),
    ("a constant pattern", data(WALK), {"pattern": "flat.npy"}, Outcome.NO_PATTERN),
    ("a window as wide as the mask", data(WALK), {"pattern": "window:2", "mask": "band:2"}, Outcome.NO_PATTERN),
    ("one sequence", data(WALK[:1]), {}, Outcome.UNDECIDED),
    ("four short noisy sequences", data(NOISE[:4, :5]), {}, Outcome.UNDECIDED),
]  # fmt: skip


@pytest.mark.parametrize(("held", "options", "expected"), [k[1:] for k in KNOWN], ids=[k[0] for k in KNOWN])
def test_known_cases_get_the_known_verdict(held, options, expected, patterns):
    found = verdict(held, patterns, **options)
    assert found["verdict"]["outcome"] == expected, found["verdict"]["sentence"]
    assert found["verdict"]["sentence"].endswith(".")
    assert found["verdict"]["would_change"]


def test_the_known_cases_cover_every_outcome():
    assert {k[3] for k in KNOWN} == set(Outcome)
    assert all(str(name) in RULE for name in Outcome)


def test_whole_masked_slopes_of_independent_tokens_are_not_zero_which_is_why_order_decides():
    rng = np.random.default_rng(0)
    found = verdict(data(rng.standard_normal((4000, LENGTH, 1))))["numbers"]
    whole = found["spt_slope_masked"]
    assert whole["high"] < 0
    trace = LENGTH * named_scores("alibi", "full", LENGTH).self_slope.sum()
    # G7 with C = I: every i and j != i contributes (1 - rho) / L of a centred score.
    assert whole["low"] < -0.5 * trace / LENGTH**3 < whole["high"]
    assert found["order_slope"]["low"] < 0 < found["order_slope"]["high"]


def test_order_slopes_cover_the_truth_in_about_95_of_100_data_sets():
    rng, scores, covered = np.random.default_rng(1), named_scores("alibi", "full", 8), 0
    for _ in range(200):
        found = of_mean(sequence_slopes(scores, rng.standard_normal((20, 8)), np.arange(20)).ordered(0.5))
        covered += holds(found, 0.0)
    assert 178 <= covered <= 199  # binomial(200, .95): 190, four standard deviations 12


def test_jackknife_intervals_cover_a_ratio_of_means():
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(300):
        pairs = np.stack([rng.exponential(2.0, 60), rng.exponential(1.0, 60)], axis=1)
        found = of_function(lambda mean: mean[..., 0] / mean[..., 1], pairs)
        covered += holds(found, 2.0)
    assert 268 <= covered <= 298


def test_intervals_of_means_are_those_of_scipy():
    import scipy.stats

    values = np.random.default_rng(3).standard_normal(9)
    wanted = scipy.stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (of_mean(values).low, of_mean(values).high) == pytest.approx(tuple(wanted))
    curve = of_groups(values[:, None] * np.ones(2), np.ones(9))
    assert curve.low is not None
    assert curve.high is not None
    assert (curve.low[0], curve.high[1]) == pytest.approx(tuple(wanted))
    assert of_function(lambda mean: mean[..., 0], values[:, None]).low == pytest.approx(wanted[0])


def test_the_unmasked_slope_is_differentiated_too_and_follows_the_mask():
    for mask in ("full", "causal", "band:3"):
        numbers = verdict(data(WALK), mask=mask)["numbers"]
        assert numbers["spt_slope_autograd"]["value"] == pytest.approx(numbers["spt_slope"]["value"], rel=1e-9)
        assert "64 of 64 sequences" in numbers["spt_slope_autograd"]["note"]
    diagonal = verdict(data(WALK), mask="diagonal")["numbers"]
    assert diagonal["spt_slope"]["value"] == numbers["spt_slope_diagonal"]["value"]
    assert diagonal["spt_slope"]["value"] != numbers["spt_slope"]["value"]


def test_one_sequence_has_numbers_without_intervals_and_says_why():
    numbers = verdict(data(WALK[:1]))["numbers"]
    for name in ("spt_slope", "spt_slope_masked", "order_slope", "spt_slope_autograd"):
        assert numbers[name]["value"] is not None
        assert numbers[name]["low"] is numbers[name]["high"] is None
        assert "sequence" in numbers[name]["note"]
    assert numbers["blind_energy_fraction"]["low"] == numbers["blind_energy_fraction"]["high"]


def test_alike_tokens_have_slope_zero_with_the_reason():
    numbers = verdict(data(np.repeat(NOISE[:, :1], LENGTH, axis=1)))["numbers"]
    for name in ("spt_slope", "spt_slope_diagonal", "order_slope"):
        assert (numbers[name]["value"], numbers[name]["note"]) == (0.0, "all tokens of a sequence are alike")
    assert abs(numbers["spt_slope_autograd"]["value"]) < 1e-12


def test_a_constant_pattern_has_no_blind_energy_and_says_why(patterns):
    numbers = verdict(data(WALK), patterns, pattern="flat.npy")["numbers"]
    assert numbers["blind_energy_fraction"]["value"] is None
    assert "constant" in numbers["blind_energy_fraction"]["note"]
    assert numbers["spt_slope"]["value"] == numbers["spt_slope_masked"]["value"] == 0.0
    inside = verdict(data(WALK), pattern="window:2", mask="band:2")["numbers"]
    assert inside["spt_slope"]["value"] == 0.0
    assert inside["spt_slope_diagonal"] == verdict(data(WALK), pattern="window:2")["numbers"]["spt_slope_diagonal"]
    assert inside["spt_slope_diagonal"]["value"] != 0


@pytest.mark.parametrize("blind", [True, False])
def test_at_the_end_of_the_blind_range_the_pooled_vector_has_moved_by_a_tenth_of_its_spread(blind, patterns):
    """Measured with softmax itself; most of each mean is removed, so that the range is short."""
    tokens = WALK - (0.9998 if blind else 0.98) * WALK.mean(axis=1, keepdims=True)
    pattern = np.random.default_rng(6).standard_normal((LENGTH, LENGTH))
    pattern -= blind * pattern.mean(axis=0)
    np.save(patterns / "random.npy", pattern)
    alpha = verdict(data(tokens), patterns, pattern="random.npy")["numbers"]["blind_range"]["value"]

    def pooled(step):
        weights = np.exp(step * pattern)
        return ((weights / weights.sum(1, keepdims=True)).mean(axis=0) @ tokens)[:, 0]

    spread = pooled(0.0).std()
    moved = np.sqrt(np.mean((pooled(alpha) - pooled(0.0)) ** 2))
    # Second order is all there is along a blind pattern; otherwise two terms add up at most.
    assert (0.95 if blind else 0.6) * SHIFT * spread < moved < 1.05 * SHIFT * spread


def test_tokens_that_are_the_pattern_have_the_largest_strength(patterns):
    block = np.where(np.arange(LENGTH) < LENGTH // 2, 1.0, -1.0)
    np.save(patterns / "blocks.npy", np.outer(block, block))
    tokens = RNG.standard_normal((64, 1)) * block
    found = verdict(data(tokens[:, :, None]), patterns, pattern="blocks.npy")["numbers"]["order_strength"]
    # Rows without their own key do not balance, by one part in L.
    assert abs(found["value"] - 1) < 2 / LENGTH
    assert verdict(data(-tokens[:, :, None]), patterns, pattern="far.npy")["numbers"]["order_strength"]["value"] < -0.5


def test_the_blind_range_says_when_there_is_none():
    assert "second order" in verdict(data(WALK), pattern="periodic")["numbers"]["blind_range"]["note"]
    centred = WALK - WALK.mean(axis=1, keepdims=True)
    assert "the same in every sequence" in verdict(data(centred))["numbers"]["blind_range"]["note"]


def test_symbols_and_their_one_hot_embedding_get_the_same_numbers():
    ids = np.random.default_rng(4).integers(0, 30, (30, LENGTH))
    left, right = verdict(symbols(ids))["numbers"], verdict(data(np.eye(30)[ids]))["numbers"]
    assert left.keys() == right.keys()
    for name in left:
        assert left[name]["value"] == pytest.approx(right[name]["value"], rel=1e-9, abs=1e-12), name


def test_padding_is_named():
    ids = np.random.default_rng(5).integers(0, 5, (30, LENGTH))
    assert not verdict(symbols(ids))["notes"]
    ids[:, -6:] = 9
    assert "25% of the positions repeat" in verdict(symbols(ids))["notes"][0]


def test_more_sequences_are_asked_for_in_proportion_to_the_squared_interval():
    wide = Estimate(0.0, -0.2, 0.2, "")
    findings = Findings(False, 0.1, False, wide, wide, exact(-1.0), 0.5, 10)
    assert outcome(findings) is Outcome.UNDECIDED
    assert sequences_needed(findings) == 161

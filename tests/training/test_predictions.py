"""Predictions are judged by the house's rules, and the statistics are what they are called."""

import itertools
import json
import math
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import polars
import pytest
from hypothesis import example, given
from scipy import stats

from numerics.errors import InputError
from numerics.verify.records import Status
from numerics.verify.trained import trained
from training.__main__ import main
from training.errors import MissingRecord
from training.experiments.catalogue import experiments, find_experiment
from training.experiments.comparisons import best_rate, by_seed, difference, excess_share, gain, most_gaining_rate
from training.experiments.experiment import SCALES
from training.experiments.toy_conditions import (
    CONFIRMATIONS,
    CONFIRMED,
    SEARCHES,
    VARIANTS,
    Search,
    Trial,
    searched,
)
from training.predictions.catalogue import predictions
from training.predictions.measures import epochs_to_converge, probe
from training.predictions.prediction import Prediction, Records, judge, located
from training.predictions.statistics import (
    equivalence,
    holm,
    mean_interval,
    minimum_detectable_effect,
    power_of,
    sign_flip,
)
from training.predictions.verdicts import as_row, write_verdicts

SAMPLES = st.lists(st.integers(-50, 50).map(lambda value: value / 10), min_size=2, max_size=7)


@given(SAMPLES)
@example([0.1, 0.2, 0.3, -0.6])  # sums that only rounding keeps from zero
def test_sign_flips_enumerate_every_pattern_of_signs(values):
    tenths = [round(10 * value) for value in values]  # integers: no rounding in the brute force
    seen = sum(tenths)
    sums = [
        sum(s * v for s, v in zip(signs, tenths, strict=True))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    assert sign_flip(values) == pytest.approx(sum(abs(one) >= abs(seen) for one in sums) / len(sums))
    assert sign_flip(values, "greater") == pytest.approx(sum(one >= seen for one in sums) / len(sums))


def test_sign_flips_agree_with_scipys_exact_permutation_test():
    values = np.array([0.3, 1.2, -0.4, 0.8, 0.5, 0.1])
    found = stats.permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(values) == pytest.approx(found.pvalue)
    with pytest.raises(InputError, match="at most 20"):
        sign_flip([1.0] * 21)


@given(SAMPLES, st.floats(-5, 5))
def test_the_interval_is_scipys_and_moves_with_the_values(values, shift):
    mean, low, high = mean_interval(values)
    if np.std(values) > 0:
        wanted = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert (low, high) == pytest.approx((wanted.low, wanted.high))
    moved = mean_interval([value + shift for value in values])
    assert moved == pytest.approx((mean + shift, low + shift, high + shift), abs=1e-9)


def test_the_interval_covers_and_the_exact_p_value_is_valid_at_small_counts():
    """4000 simulated tables: coverage within 3 standard errors of .95, and P(p <= .05) not above .05."""
    random = np.random.default_rng(0)
    for count in (6, 10):
        covered = rejected = 0
        draws = 4000 if count == 6 else 1000
        for _ in range(draws):
            values = random.standard_normal(count)
            _, low, high = mean_interval(values)
            covered += low <= 0 <= high
            rejected += sign_flip(values) <= 0.05
        error = math.sqrt(0.05 * 0.95 / draws)
        assert abs(covered / draws - 0.95) < 3 * error
        assert rejected / draws < 0.05 + 3 * error


def test_holm_is_the_step_down_of_its_definition():
    found = holm([0.01, 0.04, 0.03, 0.005])
    assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_value_keeps_order_and_is_no_harsher_than_bonferroni(p_values):
    found = holm(p_values)
    for p, adjusted in zip(p_values, found, strict=True):
        assert p <= adjusted <= min(1.0, len(p_values) * p) + 1e-12
    for (p, a), (q, b) in itertools.combinations(zip(p_values, found, strict=True), 2):
        assert (a <= b) if p < q else (b <= a or p == q)


@pytest.mark.parametrize("count", [3, 6, 10])
def test_the_detectable_effect_has_the_power_that_scipys_noncentral_t_gives_it(count):
    values = np.linspace(-1, 1, count)
    shift = minimum_detectable_effect(values) / values.std(ddof=1) * math.sqrt(count)
    bound = stats.t.ppf(0.975, count - 1)
    exact = stats.nct.sf(bound, count - 1, shift) + stats.nct.cdf(-bound, count - 1, shift)
    assert exact == pytest.approx(0.8, abs=2e-3)
    assert power_of(0.0, count) == pytest.approx(0.05, abs=1e-3)
    assert minimum_detectable_effect([1.0]) == math.inf
    assert 0 < minimum_detectable_effect([0.0, 1.0]) < math.inf


def test_equivalence_is_the_larger_of_two_one_sided_tests():
    values = [0.02, -0.03, 0.01, 0.04, -0.02, 0.0]
    t, flips = equivalence(values, 0.1)
    sides = [
        stats.ttest_1samp(values, -0.1, alternative="greater").pvalue,
        stats.ttest_1samp(values, 0.1, alternative="less").pvalue,
    ]
    assert t == pytest.approx(max(sides))
    assert flips == 1 / 64
    assert equivalence([0.2, 0.3, 0.25, 0.2, 0.3, 0.25], 0.1)[0] > 0.9
    with pytest.raises(InputError, match="must be positive"):
        equivalence(values, 0.0)


def predicting(values, direction="greater", margin=0.0, name="one", table="t"):
    def measure(records):
        return dict(enumerate(values))

    return Prediction(name, table, ("G8",), "words", "number", direction, margin, (), measure)


def verdict(values, direction="greater", margin=0.0):
    (found,) = judge((predicting(values, direction, margin),), Records(Path("nowhere"), "paper"))
    return found.verdict, found.suggestive


TEN = [1.0, 1.2, 0.9, 1.1, 1.0, 0.8, 1.3, 1.0, 1.1, 0.9]


@pytest.mark.parametrize(
    ("values", "direction", "margin", "expected"),
    [
        (TEN, "greater", 0.0, ("confirmed", False)),
        (TEN, "greater", 0.5, ("confirmed", False)),
        (TEN, "greater", 1.0, ("inconclusive", False)),
        (TEN, "greater", 1.5, ("contradicted", False)),
        (TEN, "less", 1.5, ("confirmed", False)),
        (TEN, "less", 0.5, ("contradicted", False)),
        (TEN[:5], "greater", 0.0, ("inconclusive", True)),
        (TEN[:5], "less", 0.0, ("inconclusive", False)),
        ([0.02, -0.03, 0.01, 0.04, -0.02, 0.0], "equivalent", 0.1, ("confirmed", False)),
        ([0.02, -0.03, 0.01, 0.04, -0.02], "equivalent", 0.1, ("inconclusive", True)),
        (TEN, "equivalent", 0.5, ("contradicted", False)),
        ([-value for value in TEN], "equivalent", 0.5, ("contradicted", False)),
        (TEN, "equivalent", 1.02, ("inconclusive", False)),
        ([5.0], "greater", 0.0, ("inconclusive", False)),
    ],
)
def test_verdicts_follow_the_rules_of_the_house(values, direction, margin, expected):
    assert verdict(values, direction, margin) == expected


def test_an_absence_without_a_margin_is_refused():
    with pytest.raises(InputError, match="positive margin"):
        predicting(TEN, "equivalent", 0.0)


def test_holm_corrects_within_a_table_and_can_take_a_confirmation_away():
    six = TEN[:6]
    alone = judge((predicting(six),), Records(Path("nowhere"), "paper"))
    assert alone[0].p_value == pytest.approx(2 / 64)
    assert alone[0].verdict == "confirmed"
    both = (predicting(six, name="a"), predicting(six, name="b"), predicting(six, name="c", table="other"))
    first, second, other = judge(both, Records(Path("nowhere"), "paper"))
    assert first.p_holm == second.p_holm == pytest.approx(4 / 64)
    assert (first.verdict, first.suggestive) == ("inconclusive", True)
    assert other.verdict == "confirmed"


def test_every_prediction_names_sources_of_a_known_experiment_and_ids_are_unique():
    found = predictions()
    assert len({prediction.id for prediction in found}) == len(found)
    for prediction in found:
        assert prediction.sources
        for source in prediction.sources:
            name, scale, file = located(source, "paper")
            assert find_experiment(name)
            assert scale in SCALES
            assert file
        assert prediction.sentence.endswith(".")
        assert prediction.claims


def test_why_a_prediction_was_not_run_names_no_folder_of_the_machine(tmp_path):
    reasons = [one.reason for one in judge(predictions(), Records(tmp_path, "paper"))]
    assert reasons
    assert all(reason.startswith("no record of ") and str(tmp_path) not in reason for reason in reasons)


def test_the_conditions_that_are_judged_were_searched_on_other_seeds():
    searched_seeds = {run.seed for run in searched(SEARCHES)("paper")}
    fresh = {run.seed for run in searched(CONFIRMATIONS)("paper")}
    figure = {run.seed for run in find_experiment("toy-fig4").runs("paper")}
    assert not fresh & searched_seeds
    assert not (fresh | searched_seeds) & figure
    assert len(fresh) >= 6
    assert set(CONFIRMED) <= set(VARIANTS)
    hashes = {name: searched_hashes(name) for name in VARIANTS}
    for one, other in itertools.combinations(VARIANTS, 2):
        assert not hashes[one] & hashes[other], f"{one} and {other} must differ"


def searched_hashes(variant):
    return {run.config.hash for run in searched({"smoke": Search({variant: Trial((1e-2,))}, range(1))})("smoke")}


RUNS = polars.DataFrame(
    {
        "condition": ["scratch", "scratch", "spt-finetune", "spt-finetune", "qk-only", "qk-only"] * 2,
        "learning_rate": [1e-3] * 6 + [1e-2] * 6,
        "seed": [0, 1] * 6,
        "final_test_accuracy": [0.5, 0.5, 0.9, 0.8, 0.75, 0.75, 0.9, 0.9, 0.9, 0.95, 0.9, 0.9],
        "final_test_loss": [0.7, 0.7, 0.3, 0.4, 0.5, 0.5, 0.2, 0.3, 0.3, 0.2, 0.2, float("nan")],
    }
)


def test_comparisons_pair_within_seeds_and_take_each_condition_at_its_best_rate():
    assert by_seed(RUNS, "scratch", 1e-3, "final_test_accuracy") == {0: 0.5, 1: 0.5}
    assert best_rate(RUNS, "spt-finetune", "final_test_accuracy") == 1e-2
    assert best_rate(RUNS, "scratch", "final_test_loss") == 1e-2
    assert gain(RUNS, "final_test_accuracy", None) == pytest.approx({0: 0.0, 1: 0.05})
    assert most_gaining_rate(RUNS) == 1e-3
    assert excess_share(RUNS, "qk-only", 1e-3) == pytest.approx({0: 0.05, 1: 0.1})
    assert by_seed(RUNS, "qk-only", 1e-2, "final_test_loss") == {0: 0.2}
    assert difference({0: 1.0}, {1: 1.0}) == {}
    with pytest.raises(MissingRecord, match=r"no final_test_accuracy of scratch at rate 0\.5"):
        by_seed(RUNS, "scratch", 0.5, "final_test_accuracy")


class Fixed(Records):
    """Tables from memory."""

    def __init__(self, **tables):
        super().__init__(Path("nowhere"), "paper")
        self.tables = tables

    def table(self, source):
        return self.tables[source.partition("/")[2].partition(".")[0]]


def test_probes_are_read_at_a_step_or_the_last_and_a_run_that_never_converges_counts_one_more_epoch():
    rows = {"condition": ["spt"] * 3, "learning_rate": [1.0] * 3, "seed": [0] * 3, "step": [0, 5, 9]}
    records = Fixed(probes=polars.DataFrame({**rows, "size": [math.nan, 2.0, 3.0]}))
    assert probe("spt", "size")(records) == {0: 3.0}
    assert probe("spt", "size", step=5)(records) == {0: 2.0}
    with pytest.raises(MissingRecord):
        probe("spt", "size", step=0)(records)
    curves = {"condition": ["c"] * 4, "learning_rate": [1.0] * 4, "seed": [0, 0, 1, 1], "epoch": [0, 1, 0, 1]}
    records = Fixed(epochs=polars.DataFrame({**curves, "test_accuracy": [0.5, 0.8, 0.5, 0.79]}))
    assert epochs_to_converge("c", 1.0)(records) == {0: 1.0, 1: 2.0}


def test_missing_records_read_not_run_with_the_command_and_exit_code_0(tmp_path, capsys):
    assert main(["verdicts", "--records", str(tmp_path), "--write"]) == 0
    shown = capsys.readouterr().out
    assert "python -m training run toy-fig4 --scale paper && python -m training keep toy-fig4-paper" in shown
    assert "confirmed" not in shown
    content = json.loads((tmp_path / "verdicts.json").read_text())
    assert content["schema_version"] == 1
    assert {row["verdict"] for row in content["verdicts"]} == {"not run"}
    assert all(row["records"] == [] and row["command"] for row in content["verdicts"])
    assert trained("G8", tmp_path).status is Status.NOT_RUN
    assert main(["verdicts", "--records", str(tmp_path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["verdicts"]) == len(predictions())


@pytest.fixture(scope="module")
def figure_10(tmp_path_factory):
    """A record that costs nothing: no run, one table."""
    runs = tmp_path_factory.mktemp("runs")
    kept = runs / "kept"
    assert main(["run", "toy-fig10", "--scale", "paper", "--runs", str(runs), "--jobs", "1"]) == 0
    assert main(["keep", "toy-fig10-paper", "--runs", str(runs), "--to", str(kept)]) == 0
    return kept


def test_a_verdict_that_is_written_is_read_by_the_verifier_until_its_record_changes(figure_10):
    records = Records(figure_10, "paper")

    def measure(records):
        return dict(enumerate(records.table("toy-fig10/examples.csv")["x"].to_list()[:10]))

    prediction = Prediction(
        "x", "t", ("G8",), "words.", "x", "less", 99.0, ("toy-fig10/examples.csv",), measure, {"same": measure}
    )
    judgements = judge((prediction,), records)
    write_verdicts(judgements, records)
    evidence = trained("G8", figure_10)
    assert evidence.status is Status.PASSED
    row = as_row(judgements[0], records)
    assert row["direction_or_margin"] == "mean over seeds < 99"
    assert row["records"][0]["path"] == "toy-fig10-paper/examples.csv"
    assert row["controls"]["same"] == pytest.approx(row["effect"])
    assert row["command"].startswith("python -m training run toy-fig10 --scale paper")
    file = figure_10 / "toy-fig10-paper" / "examples.csv"
    whole = file.read_bytes()
    file.write_bytes(whole + b"0,0,0,0,0,0,0\n")
    assert trained("G8", figure_10).status is Status.NOT_RUN
    with pytest.raises(InputError, match="missing or changed"):
        judge((prediction,), Records(figure_10, "paper"))
    file.write_bytes(whole)


def test_every_experiment_of_the_figures_is_there():
    names = {experiment.name for experiment in experiments()}
    assert {"toy-fig4", "toy-fig5", "toy-fig6", "toy-fig10", "toy-fig13", "toy-parts", "toy-probes"} <= names

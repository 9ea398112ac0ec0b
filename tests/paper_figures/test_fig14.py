"""Figure 14: the saved numbers say what the claims say, and a plain numpy softmax agrees with them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from numerics.errors import InputError
from numerics.gradcheck import SlopeOutcome, check_slope
from numerics.inputs import TokenData, photograph_crops
from numerics.patterns import attention_mask, score_pattern
from numerics.real import project_in_floats
from paper_figures import fig14 as module
from paper_figures import fig14_curves
from paper_figures.__main__ import main
from paper_figures.blind_part import blind_energy
from paper_figures.figure import rendered


def few_crops() -> TokenData:
    """Every hundredth of the smallest crops: enough where the picture is not looked at."""
    crops = photograph_crops(4)
    return TokenData("few crops", crops.tokens[::100], crops.labels[::100])


MASKS, PATTERNS = ("full", "diagonal"), ("projected", "raw")
SUPERVISED, RECONSTRUCTION = "supervised slope", "reconstruction slope"
EVERY = [(m, p, q) for m in MASKS for p in PATTERNS for q in (SUPERVISED, RECONSTRUCTION)]


def saved(numbers: dict, mask: str, pattern: str, quantity: str) -> dict:
    (found,) = [c for c in numbers["curves"] if (c["mask"], c["pattern"], c["quantity"]) == (mask, pattern, quantity)]
    return found


def numpy_loss(numbers: dict, mask: str, pattern: str, quantity: str) -> Callable[[float], float]:
    """The loss along the pattern, in numpy alone: an independent writing of the definition."""
    data, length = photograph_crops(8), numbers["L"]
    allowed = attention_mask(mask, length)
    scores = score_pattern("alibi", length)
    if pattern == "projected":
        scores = project_in_floats(scores, allowed, np.full(length, 1 / length))
    values, signs = data.tokens[:, :, 0], 2 * data.labels - 1

    def loss(step: float) -> float:
        weights = np.where(allowed, np.exp(step * scores), 0.0)
        outputs = values @ (weights / weights.sum(axis=1, keepdims=True)).T
        if quantity == RECONSTRUCTION:
            return float(((values - outputs) ** 2).mean() / 2)
        margins = signs * numbers["loss"]["read_out"] * outputs.mean(axis=1)
        return float(np.logaddexp(0, -margins).mean())

    return loss


def test_the_figure_is_drawn_and_every_prediction_holds(fig14):
    assert fig14.exit_code == 0
    assert fig14.numbers["holds"] is True
    assert len(fig14.numbers["curves"]) == len(EVERY)


def test_every_file_is_whole(fig14):
    assert sorted(path.name for path in fig14.folder.iterdir()) == [f"fig14.{s}" for s in ("json", "pdf", "png", "svg")]
    with Image.open(fig14.folder / "fig14.png") as image:
        image.load()
        assert image.width >= 2000
        assert np.asarray(image.convert("L")).std() > 10  # not a blank page
    assert len(list(ET.parse(fig14.folder / "fig14.svg").getroot().iter())) > 100
    pdf = (fig14.folder / "fig14.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert pdf.rstrip().endswith(b"%%EOF")


@pytest.mark.parametrize(("mask", "claim"), [("full", "P1"), ("diagonal", "P1-diag")])
def test_labels_have_no_slope_along_the_projected_pattern(fig14, mask, claim):
    curve = saved(fig14.numbers, mask, "projected", SUPERVISED)
    control = saved(fig14.numbers, mask, "raw", SUPERVISED)
    assert curve["claim"] == claim
    assert curve["slope_predicted"] == 0
    assert abs(curve["slope_measured"]) <= curve["tolerance"]
    # Zero means something: off the blind set the same tokens show a slope a million tolerances large.
    assert abs(control["slope_measured"]) > 1e6 * max(curve["tolerance"], control["tolerance"])


@pytest.mark.parametrize("mask", MASKS)
def test_the_raw_pattern_is_not_blind_and_has_the_general_slope(fig14, mask):
    curve = saved(fig14.numbers, mask, "raw", SUPERVISED)
    assert curve["claim"] == "G1"
    assert abs(curve["slope_predicted"]) > 0.01
    assert abs(curve["slope_measured"] - curve["slope_predicted"]) <= curve["tolerance"]
    assert f"{curve['slope_predicted']:.3g} ({mask} mask)" in fig14.numbers["caption"]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("mask", MASKS)
def test_reconstruction_has_the_predicted_slope(fig14, mask, pattern):
    curve = saved(fig14.numbers, mask, pattern, RECONSTRUCTION)
    assert curve["slope_predicted"] < -0.1  # reconstruction wants attention to near tokens
    assert abs(curve["slope_measured"] - curve["slope_predicted"]) <= curve["tolerance"]
    assert curve["tolerance"] < 1e-8 * abs(curve["slope_predicted"])


def test_under_the_full_mask_reconstruction_sees_the_blind_part_alone(fig14):
    slopes = [saved(fig14.numbers, "full", p, RECONSTRUCTION)["slope_predicted"] for p in PATTERNS]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-9)


@pytest.mark.parametrize(("mask", "pattern", "quantity"), EVERY)
def test_finite_differences_of_an_independent_loss_confirm_every_tangent(fig14, mask, pattern, quantity):
    curve = saved(fig14.numbers, mask, pattern, quantity)
    loss = numpy_loss(fig14.numbers, mask, pattern, quantity)
    visible = abs(saved(fig14.numbers, mask, "raw", quantity)["slope_predicted"])
    check = check_slope(loss, curve["slope_predicted"], scale=visible, largest_step=0.02)
    assert check.outcome is SlopeOutcome.PASS, check.reason
    wrong = check_slope(loss, curve["slope_predicted"] + 0.01 * visible, scale=visible, largest_step=0.02)
    assert wrong.outcome is SlopeOutcome.FAIL, wrong.reason
    for alpha, value in list(zip(curve["alphas"], curve["losses"], strict=True))[::10]:
        assert value == pytest.approx(loss(alpha), rel=1e-10)


@pytest.mark.parametrize("mask", MASKS)
def test_the_inset_shows_curvature_and_nothing_else(fig14, mask):
    curve = saved(fig14.numbers, mask, "projected", SUPERVISED)
    steps, losses = np.array(curve["near_alphas"]), np.array(curve["near_losses"])
    assert losses.max() > losses.min()
    change = losses - curve["loss_at_zero"]
    assert np.abs(change - curve["curvature_measured"] * steps**2 / 2).max() < 0.1 * np.abs(change).max()


@pytest.mark.parametrize(("mask", "share"), [("full", 0.90), ("diagonal", 0.78), ("causal", 0.03)])
def test_blind_energy_at_length_8_is_that_of_theory_md(mask, share):
    energy = blind_energy(score_pattern("alibi", 8).astype(np.int64), attention_mask(mask, 8))
    assert round(float(energy), 2) == share


def test_the_saved_blind_energy_is_the_closed_form_under_the_full_mask(fig14):
    squared = fig14.numbers["L"] ** 2
    exact = Fraction(fig14.numbers["blind_energy"]["full"]["exact"])
    assert exact == Fraction(4 * (2 * squared + 7), 3 * (3 * squared + 8))  # theory.md, G3
    assert 0 < fig14.numbers["blind_energy"]["diagonal"]["value"] < 1


@settings(max_examples=20)
@given(st.integers(4, 7), st.sampled_from(MASKS), st.randoms(use_true_random=False))
def test_blind_energy_is_a_share_and_one_on_what_it_projects_to(length, mask, random):
    pattern = np.array([[random.randint(-9, 9) for _ in range(length)] for _ in range(length)])
    allowed = attention_mask(mask, length)
    if any(len(set(row[kept])) > 1 for row, kept in zip(pattern, allowed, strict=True)):
        assert 0 <= blind_energy(pattern, allowed) <= 1
    circulant = score_pattern("periodic", length).astype(np.int64)
    assert blind_energy(circulant, allowed) == 1


def test_a_pattern_that_is_constant_on_every_row_has_no_blind_energy():
    with pytest.raises(InputError, match="varies along a row"):
        blind_energy(np.ones((4, 4), dtype=np.int64), np.ones((4, 4), dtype=bool))


@pytest.mark.parametrize(("length", "classes"), [(3, 2), (4, 3)])
def test_data_that_the_figure_cannot_show_are_refused(length, classes):
    data = TokenData("made up", np.ones((classes, length, 1)), np.arange(classes))
    with pytest.raises(InputError, match="at least 4 positions in two classes"):
        fig14_curves.measure(data)


def test_a_wrong_prediction_is_drawn_as_wrong_and_exits_with_1(monkeypatch, tmp_path, capsys):
    right = fig14_curves.claimed_value
    monkeypatch.setattr(fig14_curves, "claimed_value", lambda part, instance: right(part, instance) + 1e-3)
    monkeypatch.setattr(module, "photograph_crops", lambda side: few_crops())
    assert main(["make", "fig14", "--out", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out.count("DISAGREES") == len(EVERY)
    assert "not as it should be: fig14" in err


def test_two_drawings_are_equal_byte_for_byte():
    first, second = (rendered("fig14", module.draw(few_crops())) for _ in range(2))
    assert first == second

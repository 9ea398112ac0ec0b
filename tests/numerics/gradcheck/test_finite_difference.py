"""The derivative estimate: status, error bar and sweep."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numerics.gradcheck import DerivativeStatus, GradientCheckError, differentiate, plot_slope, plot_sweep
from numerics.gradcheck.remainder import extrapolate
from numerics.gradcheck.slope import check_slope


def test_sweep_is_a_v_curve() -> None:
    estimate = differentiate(math.exp, 1.0)
    differences = np.array(estimate.sweep.differences)
    bottom = int(np.argmin(differences))
    assert 2 <= bottom <= len(differences) - 3
    assert differences[0] > 1e4 * differences[bottom]  # truncation
    assert differences[-1] > 1e1 * differences[bottom]  # rounding
    central = [(math.exp(1 + h) - math.exp(1 - h)) / (2 * h) for h in estimate.sweep.steps[:6]]
    np.testing.assert_allclose(estimate.sweep.values[:6], central, rtol=1e-8)
    assert estimate.step in estimate.sweep.steps


@pytest.mark.parametrize("power", [1, 2])
def test_extrapolation_is_exact_for_its_own_power_and_its_bound_covers_the_rest(power: int) -> None:
    steps = np.geomspace(0.1, 1e-3, 6)
    quotients = np.stack([3.0 + steps**power, 3.0 + steps ** (power + 1)], axis=1)
    values, bounds, holds = extrapolate(quotients, steps, np.zeros_like(quotients), power)
    np.testing.assert_allclose(values[:, 0], 3.0, rtol=1e-14)
    assert (np.abs(values[:, 1] - 3.0) <= bounds[:, 1]).all()
    assert holds.all()


@pytest.mark.parametrize("seed", range(5))
def test_estimate_beats_the_central_difference_at_its_own_step(seed: int) -> None:
    """In float32 truncation rules at the step chosen, so that the gain of the extrapolation shows."""
    estimate = differentiate(lambda x: np.sin(np.float32(x)), 0.7, seed=seed)
    truth = math.cos(float(np.float32(0.7)))
    plain = estimate.sweep.values[estimate.sweep.steps.index(estimate.step)]
    assert abs(estimate.value - truth) < abs(plain - truth) / 5


def test_two_seeds_give_two_ladders_and_one_answer() -> None:
    first, second = (differentiate(math.exp, 1.0, seed=seed) for seed in (1, 2))
    assert first.sweep.steps != second.sweep.steps
    assert abs(first.value - second.value) <= first.error + second.error
    assert differentiate(math.exp, 1.0, seed=1) == first


def test_noise_beyond_the_wanted_accuracy_is_called_noisy() -> None:
    estimate = differentiate(lambda x: 1e12 + x**2, 1.0)
    assert estimate.status is DerivativeStatus.NOISY
    assert abs(estimate.value - 2.0) <= estimate.error


def test_error_bar_at_a_kink_reaches_both_slopes() -> None:
    estimate = differentiate(lambda x: max(x, 0.0), 0.0)
    assert estimate.status is DerivativeStatus.KINK
    assert estimate.value - estimate.error <= 0.0 + 1e-12
    assert estimate.value + estimate.error >= 1.0 - 1e-12
    assert "0 and 1" in estimate.reason


@pytest.mark.parametrize("frequency", [1e3, 1e6])
def test_large_steps_that_overlook_a_fast_wave_are_not_believed(frequency: float) -> None:
    estimate = differentiate(lambda x: math.sin(frequency * x + 0.3), 0.0)
    assert abs(estimate.value - frequency * math.cos(0.3)) <= estimate.error < 1e-3 * frequency


def test_slope_plot_draws_the_record() -> None:
    check = check_slope(math.exp, 1.0)
    lines = {line.get_label(): line for line in plot_slope(check).get_lines()}
    assert set(lines) >= {"order 1", "order 2", "rounding floor"}
    drawn = next(line for label, line in lines.items() if str(label).startswith("$R_1$"))
    np.testing.assert_array_equal(drawn.get_ydata(), check.remainders)
    steps, reference = lines["order 2"].get_data()
    assert np.polyfit(np.log(steps), np.log(reference), 1)[0] == pytest.approx(2.0)


def test_sweep_plot_draws_the_record() -> None:
    estimate = differentiate(math.exp, 1.0)
    axes = plot_sweep(estimate)
    np.testing.assert_array_equal(axes.get_lines()[0].get_xdata(), estimate.sweep.steps)
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), estimate.sweep.differences)
    assert plot_sweep(estimate, axes) is axes


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(GradientCheckError, match="no remainder to draw"):
        plot_slope(check_slope(math.sqrt, 1.0, at=0.0))
    with pytest.raises(GradientCheckError, match="no sweep to draw"):
        plot_sweep(differentiate(math.sqrt, 0.0))

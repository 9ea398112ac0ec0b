"""Random smooth functions: a right slope is never failed, a wrong one never passed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from numerics.gradcheck import GradientCheckError, PrecisionError, ShapeError, SlopeOutcome, check_slope, differentiate

from .strategies import SmoothFunction, points, relative_errors, smooth_functions

PASS, FAIL, INCONCLUSIVE = SlopeOutcome.PASS, SlopeOutcome.FAIL, SlopeOutcome.INCONCLUSIVE
seeds = st.integers(0, 2**32 - 1)


@given(function=smooth_functions(), point=points, seed=seeds)
def test_right_slope_passes(function: SmoothFunction, point: float, seed: int) -> None:
    at = point * function.length
    check = check_slope(function, function.slope(at), at=at, scale=function.slope_scale, seed=seed)
    assert check.outcome is PASS, check.reason
    assert check.observed_order is None or check.observed_order >= 5 / 3


@given(function=smooth_functions(), point=points, error=relative_errors, seed=seeds)
def test_wrong_slope_fails(function: SmoothFunction, point: float, error: float, seed: int) -> None:
    at = point * function.length
    claim = function.slope(at) + error * function.slope_scale
    check = check_slope(function, claim, at=at, scale=function.slope_scale, seed=seed)
    assert check.outcome is FAIL, check.reason
    assert check.observed_order == pytest.approx(1.0, abs=1 / 3)


@settings(max_examples=60)
@given(function=smooth_functions(largest_offset=1e14), point=points, error=relative_errors, seed=seeds)
def test_no_constant_however_large_turns_a_verdict_round(
    function: SmoothFunction, point: float, error: float, seed: int
) -> None:
    at = point * function.length
    slope = function.slope(at)
    assert check_slope(function, slope, at=at, scale=function.slope_scale, seed=seed).outcome is not FAIL
    wrong = slope + error * function.slope_scale
    assert check_slope(function, wrong, at=at, scale=function.slope_scale, seed=seed).outcome is not PASS


@settings(max_examples=60)
@given(function=smooth_functions(), point=points, error=relative_errors)
def test_verdict_without_a_scale_is_never_the_wrong_way_round(
    function: SmoothFunction, point: float, error: float
) -> None:
    at = point * function.length
    slope = function.slope(at)
    assume(abs(slope) > 1e-3 * function.slope_scale)
    assert check_slope(function, slope, at=at).outcome is PASS
    assert check_slope(function, slope * (1 + error), at=at).outcome is not PASS


@settings(max_examples=60)
@given(function=smooth_functions(length=(0.2, 5.0), largest_offset=3.0), point=points, error=relative_errors)
def test_float32_raises_no_false_alarm_and_passes_nothing_wrong(
    function: SmoothFunction, point: float, error: float
) -> None:
    at = float(np.float32(point * function.length))
    slope = function.slope(at)

    def single(x: float) -> np.float32:
        return np.float32(function(float(np.float32(x))))

    assert check_slope(single, slope, at=at, scale=function.slope_scale).outcome is not FAIL
    wrong = slope + error * function.slope_scale
    assert check_slope(single, wrong, at=at, scale=function.slope_scale).outcome is not PASS


@given(function=smooth_functions(largest_offset=1e8), point=points, seed=seeds)
def test_error_bar_covers_the_true_derivative(function: SmoothFunction, point: float, seed: int) -> None:
    at = point * function.length
    estimate = differentiate(function, at, seed=seed)
    slope = function.slope(at)
    rounding_of_slope = 8 * np.finfo(float).eps * max(abs(slope), function.slope_scale)
    assert abs(estimate.value - slope) <= estimate.error + rounding_of_slope


@settings(max_examples=30)
@given(
    weights=st.lists(st.floats(-1.0, 1.0), min_size=8, max_size=64),
    at=st.sampled_from((0.0, 0.5)),
    error=relative_errors,
)
def test_float32_autograd_of_a_long_sum_is_never_failed(weights: list[float], at: float, error: float) -> None:
    vector = torch.tensor(weights, dtype=torch.float32).repeat(50)
    point = torch.tensor(at, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.tanh(point * vector).sum(), point)
    assert check_slope(lambda x: torch.tanh(x * vector).sum(), slope, at=point).outcome is not FAIL
    if slope:
        wrong = slope * (1 + error)
        assert check_slope(lambda x: torch.tanh(x * vector).sum(), wrong, at=point).outcome is not PASS


def test_exact_model_is_noticed() -> None:
    check = check_slope(lambda x: 3.0 * x + 1.0, 3.0, at=0.3)
    assert check.outcome is PASS
    assert check.observed_order is None
    assert "exactly linear" in check.reason


@pytest.mark.parametrize(("power", "order"), [(2, 2.0), (3, 3.0), (4, 4.0)])
def test_observed_order_is_that_of_the_first_term_left_over(power: int, order: float) -> None:
    check = check_slope(lambda x: x + x**power, 1.0)
    assert check.outcome is PASS
    assert check.observed_order == pytest.approx(order, abs=0.05)


def test_remainder_halves_add_up_and_record_is_complete() -> None:
    check = check_slope(math.exp, 2.0, at=0.0)
    halves = np.abs(check.odd_remainders) + np.abs(check.even_remainders)
    np.testing.assert_allclose(halves, check.remainders, rtol=1e-12)
    steps = np.array(check.steps)
    np.testing.assert_allclose(check.remainders0, np.exp(steps) - 1, rtol=1e-5)
    one_sided = [np.abs(np.exp(sign * steps) - 1 - sign * steps * 2.0) for sign in (1, -1)]
    np.testing.assert_allclose(np.max(one_sided, axis=0), check.remainders, rtol=1e-5)
    assert len(check.floor) == len(steps) == 15
    assert check.expected_order == 2.0
    assert abs(check.estimated - 1.0) <= check.estimated_error


def test_claim_in_low_precision_is_not_failed_for_its_rounding() -> None:
    claim = torch.tensor(math.cos(0.7), dtype=torch.float32)
    assert float(claim) != math.cos(0.7)
    assert check_slope(math.sin, claim, at=0.7).outcome is PASS
    assert check_slope(math.sin, float(claim), at=0.7).outcome is FAIL  # as a float64 claim it is off by 1e-8


def test_resolution_is_what_would_have_shown() -> None:
    right = check_slope(math.sin, math.cos(0.7), at=0.7)
    for factor in (1.5, -1.5):
        assert check_slope(math.sin, math.cos(0.7) + factor * right.resolution, at=0.7).outcome is not PASS


def test_function_sees_the_type_of_the_point() -> None:
    seen = set()

    def spy(x: object) -> object:
        seen.add((type(x), getattr(x, "dtype", None)))
        return x * x  # type: ignore[operator]

    check_slope(spy, 1.0, at=np.float32(0.5))
    check_slope(spy, 1.0, at=torch.tensor(0.5, dtype=torch.float64))
    check_slope(spy, 1.0, at=0.5)
    assert seen == {(np.float32, np.dtype("float32")), (torch.Tensor, torch.float64), (float, None)}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: check_slope(lambda x: [x, x], 1.0), ShapeError, r"shape=\(2,\)"),
        (lambda: check_slope(math.sin, 1.0, at=np.zeros(3)), ShapeError, "use check_jacobian"),
        (lambda: check_slope(lambda x: 1j * x, 1.0), PrecisionError, "must be real"),
        (lambda: check_slope(math.sin, 1.0, at=math.inf), GradientCheckError, "must be finite: at=inf"),
        (lambda: check_slope(math.sin, 1.0, scale=0.0), GradientCheckError, "scale must be positive"),
        (lambda: check_slope(math.sin, 1.0, largest_step=-1.0), GradientCheckError, "largest_step must be positive"),
        (lambda: check_slope(math.sin, 1.0, step_count=2), GradientCheckError, "needs 4 steps or more: 2"),
        (lambda: check_slope(math.sin, 1.0, at=1.0, largest_step=1e-12), GradientCheckError, "raise largest_step"),
    ],
)
def test_bad_arguments_are_refused_with_rule_value_and_remedy(call, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_errors_of_the_function_at_the_point_itself_reach_the_caller() -> None:
    with pytest.raises(ValueError, match="math domain error"):
        check_slope(math.log, 1.0, at=0.0)

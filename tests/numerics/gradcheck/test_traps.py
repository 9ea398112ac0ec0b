"""Every public report of a gradient checker that was fooled, as a test that this one is not.

Each test cites its report as project#number on GitHub. A detected error, or "inconclusive" with the reason, is right;
a pass of a wrong slope and a fail of a right one are not.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from numerics.gradcheck import SlopeOutcome, check_jacobian, check_slope, differentiate
from numerics.gradcheck.finite_difference import DerivativeStatus

PASS, FAIL, INCONCLUSIVE = SlopeOutcome.PASS, SlopeOutcome.FAIL, SlopeOutcome.INCONCLUSIVE


def _in_format(number_format: torch.dtype):
    return lambda x: torch.sin(torch.tensor(x, dtype=number_format))


# --- low precision ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_true_slope_passes_in_float32(seed: int) -> None:
    """pytorch#5351: small steps in single precision raised false alarms."""
    check = check_slope(_in_format(torch.float32), math.cos(0.7), at=0.7, seed=seed)
    assert check.outcome is PASS, check.reason
    assert check.working_precision == "float32"


def test_float32_hidden_behind_a_python_float_is_noticed() -> None:
    """pytorch#5351: the same function, returned with .item()."""
    check = check_slope(lambda x: torch.sin(torch.tensor(x, dtype=torch.float32)).item(), math.cos(0.7), at=0.7)
    assert check.outcome is PASS, check.reason
    assert check.working_precision == "float32"


def test_function_that_casts_its_argument_sees_every_node_unchanged() -> None:
    """pytorch#5351: a step that is lost in the cast is a false alarm."""
    nodes = []

    def single(x: float) -> float:
        nodes.append(x)
        return float(np.sin(np.float32(x)))

    check = check_slope(single, math.cos(0.7), at=0.7)
    assert check.at == float(np.float32(0.7))
    probes = 3  # spent on finding out the format
    assert all(node == float(np.float32(node)) for node in nodes[probes:])
    assert len(set(nodes[probes:])) == 2 * len(check.steps) + 1


def test_wrong_slope_fails_in_float32() -> None:
    """pytorch#5351: the remedy must not be a tolerance that lets everything pass."""
    for error in (0.01, -0.01, -2.0):
        check = check_slope(_in_format(torch.float32), (1 + error) * math.cos(0.7), at=0.7)
        assert check.outcome is FAIL, check.reason


@pytest.mark.parametrize("at", [0.0, 1.0])
def test_large_float32_sum_raises_no_false_alarm(at: float) -> None:
    """jax#3130: rounding of large sums in single precision."""
    weights = torch.linspace(-1.0, 1.2, 10_000)
    point = torch.tensor(at, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.tanh(point * weights).sum(), point)
    # Rounding of 10 000 terms hides errors of 1.4e-3 of the slope at 1: ask for 1e-2.
    check = check_slope(lambda x: torch.tanh(x * weights).sum(), slope, at=point, relative_resolution=1e-2)
    assert check.outcome is PASS, check.reason


@pytest.mark.parametrize("number_format", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("claim", [math.cos(0.7), 0.0, 1.01 * math.cos(0.7)])
def test_step_below_the_format_is_inconclusive_not_passed(number_format: torch.dtype, claim: float) -> None:
    """jax#7742: bfloat16 sin at 0.7 with eps 1e-4 has difference 0."""
    check = check_slope(_in_format(number_format), claim, at=0.7)
    assert check.outcome is not PASS
    if claim == math.cos(0.7):
        assert check.outcome is INCONCLUSIVE
        assert "rounding" in check.reason


# --- kinks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [0.0, 0.5, 1.0])
def test_relu_at_zero_has_two_slopes(claim: float) -> None:
    """pytorch#114234, scipy#12887: central differences say 0.5 and "success"."""
    check = check_slope(lambda x: max(x, 0.0), claim)
    assert check.outcome is INCONCLUSIVE
    assert "left and right slopes differ" in check.reason
    assert (check.left_slope, check.right_slope) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_abs_at_zero_has_two_slopes() -> None:
    """scipy#12887: central differences say 0 and "success"."""
    assert check_slope(abs, 0.0).outcome is INCONCLUSIVE
    assert differentiate(abs, 0.0).status is DerivativeStatus.KINK


def test_claim_outside_both_one_sided_slopes_fails() -> None:
    """pytorch#114234: no convention makes 7 a slope of relu."""
    assert check_slope(lambda x: max(x, 0.0), 7.0).outcome is FAIL


@pytest.mark.parametrize("distance", [1e-3, 1e-7])
def test_kink_nearby_does_no_harm(distance: float) -> None:
    """pytorch#57166: a kink next to the point is not a kink at the point."""
    assert check_slope(lambda x: max(x, 0.0), 1.0, at=distance).outcome is PASS
    assert check_slope(lambda x: max(x, 0.0), 0.5, at=distance).outcome is FAIL
    assert check_slope(lambda x: max(x, 0.0), 0.0, at=-distance).outcome is PASS


@pytest.mark.parametrize("claim", [0.0, 1.0])
def test_kink_closer_than_the_smallest_step_is_reported_as_a_kink(claim: float) -> None:
    """pytorch#57166: what cannot be told from a kink is neither passed nor failed."""
    check = check_slope(lambda x: max(x, 0.0), claim, at=1e-12)
    assert check.outcome is INCONCLUSIVE
    assert "slopes differ" in check.reason


def test_order_between_one_and_two_is_inconclusive() -> None:
    """scipy#12887: |x|**1.5 has slope 0 at 0, but no second order that could confirm it."""
    check = check_slope(lambda x: abs(x) ** 1.5, 0.0)
    assert check.outcome is INCONCLUSIVE
    assert check.observed_order == pytest.approx(1.5, abs=0.05)


@pytest.mark.parametrize("claim", [0.0, 0.5, 1.0])
def test_jump_is_never_passed(claim: float) -> None:
    """scipy#12887: a step function at its step."""
    assert check_slope(lambda x: float(x > 0), claim, scale=1.0).outcome is not PASS


# --- tolerances -------------------------------------------------------------------------------------------------------


def test_wrong_sign_of_a_small_slope_fails() -> None:
    """warp#508: sin(1e-6 x) with the wrong sign passes an absolute tolerance of 1e-5."""
    assert check_slope(lambda x: math.sin(1e-6 * x), -1e-6).outcome is FAIL
    assert check_slope(lambda x: math.sin(1e-6 * x), 1e-6).outcome is PASS


def test_zero_slope_of_a_faint_parabola_passes() -> None:
    """scipy#7766: f = 1e-9 x**2 with claimed gradient 0 was given an "error" of 2e-9."""
    check = check_slope(lambda x: 1e-9 * x**2, 0.0)
    assert check.outcome is PASS, check.reason
    assert check.resolution < 1e-20
    assert check_slope(lambda x: 1e-9 * x**2, 1e-12).outcome is FAIL


def test_true_derivative_zero_is_a_success() -> None:
    """scipy#18811: cos at 0, whose derivative is 0, was reported as a failure."""
    assert check_slope(math.cos, 0.0).outcome is PASS
    estimate = differentiate(math.cos, 0.0)
    assert estimate.status is DerivativeStatus.SUCCESS
    assert abs(estimate.value) <= estimate.error < 1e-9


def test_truncation_is_not_taken_for_an_error_of_the_claim() -> None:
    """gam#2461: a stable 0.54 % "error" was the truncation of a central difference with a large step."""

    def function(x: float) -> float:
        return math.exp(18.0 * x)

    step = 0.01
    naive = (function(step) - function(-step)) / (2 * step)
    assert abs(naive / 18.0 - 1) == pytest.approx(0.0054, abs=1e-4)  # the report
    assert check_slope(function, 18.0).outcome is PASS
    assert check_slope(function, naive).outcome is FAIL
    coarse = differentiate(function, 0.0, largest_step=4.0, step_count=4)  # steps too large on purpose
    assert abs(coarse.value - 18.0) <= coarse.error


# --- constants --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [1e12, 1e14, 1e16])
def test_slope_hidden_in_a_large_constant_is_inconclusive(constant: float) -> None:
    """No report: 1e12 + x**2 at 1, where the difference is 0."""
    check = check_slope(lambda x: constant + x**2, 2.0, at=1.0)
    assert check.outcome is INCONCLUSIVE
    assert check.resolution > 1e-3 * 2.0
    assert check_slope(lambda x: constant + x**2, 0.0, at=1.0).outcome is not PASS
    assert check_slope(lambda x: constant + x**2, 0.0, at=1.0, scale=1.0).outcome is not PASS


@pytest.mark.parametrize("constant", [1e6, 1e9, 3e10, 3e12, 1e15])
@pytest.mark.parametrize("factor", [1.0, 0.1])
def test_constant_that_cancels_inside_is_noticed_as_noise(constant: float, factor: float) -> None:
    """No report: the size of the result does not show its rounding; values move in steps."""

    def function(x: float) -> float:
        return ((constant + x**2) - constant) * factor

    assert check_slope(function, 2.0 * factor, at=1.0).outcome is not FAIL
    assert check_slope(function, 0.0, at=1.0).outcome is not PASS
    assert check_slope(function, -2.0 * factor, at=1.0).outcome is not PASS


def _soft_threshold(x: float) -> float:
    return max(x - 1e-5, 0.0) - max(-x - 1e-5, 0.0)


@pytest.mark.parametrize("claim", [0.0, 1.0])
def test_plateau_that_looks_like_rounding_is_inconclusive(claim: float) -> None:
    """No report: flat within 1e-5 of the point, slope 1 outside; values cannot tell it from a hidden constant."""
    check = check_slope(_soft_threshold, claim, scale=1.0)
    assert check.outcome is INCONCLUSIVE
    assert "flat at small steps" in check.reason


@pytest.mark.parametrize("power", [2, 4, 6, 8])
def test_flat_minimum_on_a_constant_is_not_mistaken_for_a_plateau(power: int) -> None:
    """scipy#18811 with higher order: 1 + x**p is exactly 1 near 0."""
    check = check_slope(lambda x: 1.0 + x**power, 0.0)
    assert check.outcome is PASS, check.reason
    assert check_slope(lambda x: 1.0 + x**power, 1e-6).outcome is not PASS


def test_vacuous_zero_is_inconclusive_until_a_scale_is_given() -> None:
    """kornia#4188: a gradient check on an instance whose gradient is identically 0 says nothing."""
    check = check_slope(lambda x: 5.0, 0.0)
    assert check.outcome is INCONCLUSIVE
    assert check.vacuous
    assert "vacuous" in check.reason
    with_scale = check_slope(lambda x: 5.0, 0.0, scale=1.0)
    assert with_scale.outcome is PASS
    assert with_scale.vacuous
    assert with_scale.resolution < 1e-10
    assert not check_slope(math.cos, 0.0).vacuous


def test_scale_below_the_resolution_does_not_rescue_a_vacuous_zero() -> None:
    """kornia#4188: a scale that rounding hides cannot support a zero."""
    assert check_slope(lambda x: 5.0, 0.0, scale=1e-12).outcome is INCONCLUSIVE


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [2e4, -2e4, 1e-3, 1e7])
def test_steps_scale_with_the_input(at: float) -> None:
    """tesseract-core#706: input 2e4."""
    check = check_slope(math.sin, math.cos(at), at=at)
    assert check.outcome is PASS, check.reason
    assert check_slope(math.sin, 1.001 * math.cos(at), at=at).outcome is not PASS


def test_steps_scale_with_the_input_in_float32() -> None:
    """tesseract-core#706: at 2e4 a float32 step of 1e-4 is lost altogether."""
    check = check_slope(lambda x: x * x, torch.tensor(4e4), at=torch.tensor(2e4))
    assert check.outcome is PASS, check.reason


def test_default_cost_is_below_forty_evaluations() -> None:
    """The budget of the specification; nfev is counted, not assumed."""
    count = 0

    def counted(x: float) -> float:
        nonlocal count
        count += 1
        return math.sin(x)

    assert check_slope(counted, 1.0).nfev == count <= 40


# --- randomness and domains -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_dropout_is_not_deterministic(shift: float) -> None:
    """pytorch#114333: dropout gave entries of 1e5. With shift 0 the value at the point itself is always 0."""
    torch.manual_seed(0)
    weights = torch.linspace(0.5, 1.5, 50, dtype=torch.float64)

    def function(x: float) -> torch.Tensor:
        return torch.nn.functional.dropout((x + shift) * weights, 0.5).sum()

    check = check_slope(function, float(weights.sum()))
    assert check.outcome is INCONCLUSIVE
    assert "not deterministic" in check.reason
    assert differentiate(function).status is DerivativeStatus.NOISY


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (math.sqrt, 0.0),
        (lambda x: np.log(x) if x > 0 else np.nan, 1e-12),
        (lambda x: torch.log(torch.tensor(x, dtype=torch.float64)), 0.0),
        (lambda x: 1.0 / x if x else math.inf, 0.0),
    ],
)
def test_domain_edge_is_inconclusive(function, at: float) -> None:
    """Calculus.jl#131: log near 0 gave NaN."""
    check = check_slope(function, 1.0, at=at)
    assert check.outcome is INCONCLUSIVE
    assert "not finite" in check.reason
    assert differentiate(function, at).status is DerivativeStatus.NON_FINITE


def test_steps_that_leave_the_domain_are_dropped_and_reported() -> None:
    """Calculus.jl#131: log at 0.01 is smooth; only the large steps leave the domain."""
    check = check_slope(math.log, 100.0, at=0.01)
    assert check.outcome is PASS
    assert "left the domain" in check.reason
    assert max(check.steps) < 0.01
    assert check_slope(math.log, -100.0, at=0.01).outcome is FAIL


def test_fully_masked_softmax_row_is_inconclusive() -> None:
    """pytorch#41508: a query with no key left gives NaN (our diagonal mask at one token)."""

    def function(x: float) -> torch.Tensor:
        scores = torch.tensor([[x]], dtype=torch.float64).masked_fill(torch.tensor([[True]]), -math.inf)
        return torch.softmax(scores, dim=-1).sum()

    check = check_slope(function, 0.0)
    assert check.outcome is INCONCLUSIVE
    assert "nan" in check.reason


def test_claim_that_is_not_a_number_fails() -> None:
    """pytorch#41508: the gradient is NaN although the function is fine."""
    assert check_slope(math.sin, math.nan).outcome is FAIL
    assert check_slope(math.sin, math.inf).outcome is INCONCLUSIVE


# --- Jacobians --------------------------------------------------------------------------------------------------------


def test_one_wrong_entry_in_forty_thousand_is_found_and_named() -> None:
    """pytorch#59615: a 200 x 200 Jacobian with one entry off by 1e-3 passes the fast mode."""
    rng = np.random.default_rng(0)
    matrix, point = rng.normal(size=(200, 200)) / 14, rng.normal(size=200)
    jacobian = matrix * (1 - np.tanh(matrix @ point) ** 2)[:, None]
    right = check_jacobian(lambda x: np.tanh(matrix @ x), jacobian, point)
    assert right.outcome is PASS, right.reason
    jacobian[17, 93] += 1e-3
    check = check_jacobian(lambda x: np.tanh(matrix @ x), jacobian, point)
    assert check.outcome is FAIL
    assert check.wrong == 1
    assert check.worst is not None
    assert (check.worst.output_index, check.worst.input_index) == ((17,), (93,))
    assert check.worst.claimed == jacobian[17, 93]
    assert check.worst.absolute_error == pytest.approx(1e-3, rel=1e-3)
    assert "output [17], input [93]" in check.reason


def test_expanded_input_is_copied() -> None:
    """pytorch#38586: randn(1).expand(2) shares one number between two inputs."""
    point = torch.tensor([0.3], dtype=torch.float64).expand(2)
    assert check_jacobian(lambda x: x**2, torch.diag(2 * point), point).outcome is PASS
    wrong = check_jacobian(lambda x: x**2, torch.full((2, 2), 0.6, dtype=torch.float64), point)
    assert (wrong.outcome, wrong.wrong) == (FAIL, 2)
    shared = np.broadcast_to(np.array(0.3), (2,))
    assert check_jacobian(lambda x: x**2, np.diag(2 * shared), shared).outcome is PASS


@pytest.mark.parametrize(("gap", "expected"), [(1e-2, PASS), (1e-7, PASS), (1e-12, INCONCLUSIVE), (0.0, INCONCLUSIVE)])
def test_near_ties_of_a_sort_raise_no_false_alarm(gap: float, expected: SlopeOutcome) -> None:
    """pytorch#57166: sort of [1, 1 + 1e-7, 2]."""
    point = torch.tensor([1.0, 1.0 + gap, 2.0], dtype=torch.float64)
    check = check_jacobian(lambda x: torch.sort(x).values, torch.eye(3, dtype=torch.float64), point)
    assert check.outcome is expected, check.reason
    if expected is INCONCLUSIVE:
        assert "left and right slopes differ" in check.reason


def test_wrong_permutation_at_a_near_tie_fails() -> None:
    """pytorch#57166: steps smaller than the tie still tell right from wrong."""
    point = torch.tensor([1.0, 1.0 + 1e-7, 2.0], dtype=torch.float64)
    swapped = torch.eye(3, dtype=torch.float64)[[1, 0, 2]]
    assert check_jacobian(lambda x: torch.sort(x).values, swapped, point).outcome is FAIL


def test_dropout_jacobian_is_not_deterministic() -> None:
    """pytorch#114333: entries of 1e5."""
    torch.manual_seed(0)
    point = torch.ones(3, dtype=torch.float64)
    check = check_jacobian(lambda x: torch.nn.functional.dropout(x, 0.5), torch.eye(3), point)
    assert check.outcome is INCONCLUSIVE
    assert "not deterministic" in check.reason
    assert check.wrong == 0

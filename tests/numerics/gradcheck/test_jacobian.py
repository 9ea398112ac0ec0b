"""The Jacobian check: shapes, precision, kinks elsewhere, and what it says about the worst entry."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics.gradcheck import PrecisionError, ShapeError, SlopeOutcome, check_jacobian

PASS, FAIL, INCONCLUSIVE = SlopeOutcome.PASS, SlopeOutcome.FAIL, SlopeOutcome.INCONCLUSIVE


def _mixing(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(4, 6, generator=generator, dtype=torch.float64),
        torch.randn(2, 3, generator=generator, dtype=torch.float64),
    )


@settings(max_examples=12)
@given(
    seed=st.integers(0, 1000),
    entry=st.tuples(st.integers(0, 3), st.integers(0, 5)),
    error=st.sampled_from((1e-3, -0.1, 2.0)),
)
def test_softmax_jacobian_passes_and_any_wrong_entry_is_named(seed: int, entry: tuple[int, int], error: float) -> None:
    matrix, point = _mixing(seed)

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(matrix @ x.reshape(-1), dim=0).reshape(2, 2)

    jacobian = torch.autograd.functional.jacobian(function, point)
    assert jacobian.shape == (2, 2, 2, 3)
    right = check_jacobian(function, jacobian, point, scale=1e-2)
    assert right.outcome is PASS, right.reason
    assert (np.abs(right.measured - right.claimed) <= right.error_bound).all()
    wrong = jacobian.clone().reshape(4, 6)
    wrong[entry] += error
    check = check_jacobian(function, wrong, point, scale=1e-2)
    assert check.outcome is FAIL
    assert check.wrong == 1
    assert check.worst is not None
    assert check.worst.output_index == (entry[0] // 2, entry[0] % 2)
    assert check.worst.input_index == (entry[1] // 3, entry[1] % 3)
    assert check.worst.claimed - check.worst.measured == pytest.approx(error, rel=1e-4)


def test_relu_network_with_kinks_nearby_passes() -> None:
    rng = np.random.default_rng(3)
    first, second, point = rng.normal(size=(20, 10)), rng.normal(size=(5, 20)), rng.normal(size=10)
    jacobian = second @ (first * (first @ point > 0)[:, None])
    check = check_jacobian(lambda x: second @ np.maximum(first @ x, 0.0), jacobian, point)
    assert check.outcome is PASS, check.reason


def test_small_rows_are_judged_by_their_own_scale() -> None:
    """warp#508 for vectors: the wrong sign in a row that is a million times smaller than its neighbour."""
    matrix, point = np.array([[1.0, 2.0], [1e-6, 2e-6]]), np.array([0.4, -0.3])
    claim = matrix.copy()
    assert check_jacobian(lambda x: np.sin(matrix @ x), np.cos(matrix @ point)[:, None] * claim, point).passed
    claim[1] *= -1
    check = check_jacobian(lambda x: np.sin(matrix @ x), np.cos(matrix @ point)[:, None] * claim, point)
    assert (check.outcome, check.wrong) == (FAIL, 2)


def test_vacuous_jacobian_is_inconclusive_until_a_scale_is_given() -> None:
    """kornia#4188."""
    point, zero = np.ones(2), np.zeros((2, 2))
    check = check_jacobian(lambda x: 0 * x + 3.0, zero, point)
    assert check.outcome is INCONCLUSIVE
    assert "vacuous" in check.reason
    assert check.vacuous_outputs == (0, 1)
    assert check_jacobian(lambda x: 0 * x + 3.0, zero, point, scale=1.0).outcome is PASS


@pytest.mark.parametrize("claim", [np.array([[np.inf, 0.0]]), np.array([[np.nan, 0.0]])])
def test_claim_that_is_not_finite_fails(claim: np.ndarray) -> None:
    check = check_jacobian(lambda x: x[:1], claim, np.ones(2))
    assert (check.outcome, check.wrong) == (FAIL, 1)
    assert check.worst is not None
    assert check.worst.input_index == (0,)


def test_function_that_is_not_finite_is_inconclusive() -> None:
    """pytorch#41508, Calculus.jl#131."""
    check = check_jacobian(lambda x: np.sqrt(x), np.diag([0.5, 1.0]), np.array([1.0, 0.0]))
    assert check.outcome is INCONCLUSIVE
    assert "input [1]" in check.reason
    assert "not finite" in check.reason
    masked = check_jacobian(lambda x: x * np.nan, np.eye(2), np.ones(2))
    assert masked.outcome is INCONCLUSIVE


def test_hidden_slope_is_inconclusive() -> None:
    check = check_jacobian(lambda x: 1e14 + x**2, np.diag([2.0, 2.0]), np.ones(2))
    assert check.outcome is INCONCLUSIVE
    assert check.unjudged > 0
    assert "rounding" in check.reason


@pytest.mark.parametrize(
    ("function", "point"),
    [
        (lambda x: x, torch.ones(2, dtype=torch.float32)),
        (lambda x: x, np.ones(2, dtype=np.float16)),
        (lambda x: x, np.ones(2, dtype=np.int64)),
        (lambda x: x.float(), torch.ones(2, dtype=torch.float64)),
        (lambda x: x.astype(np.float32), np.ones(2)),
    ],
)
def test_lower_precision_is_refused_with_a_remedy(function, point) -> None:
    """pytorch#5351."""
    with pytest.raises(PrecisionError, match=r"works in float64: dtype of the (point|value) is .*; convert"):
        check_jacobian(function, np.eye(2), point)


def test_claim_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"shape=\(2, 3\); transpose"):
        check_jacobian(lambda x: x[:2], np.zeros((3, 2)).T.reshape(2, 3)[:, :3], np.ones(2))


def test_scalar_point_and_value_work() -> None:
    assert check_jacobian(np.sin, np.cos(0.5), 0.5).outcome is PASS
    assert check_jacobian(np.sin, 0.5, 0.5).outcome is FAIL


def test_function_may_overwrite_its_argument() -> None:
    def careless(x: np.ndarray) -> np.ndarray:
        x *= 2.0
        return x

    assert check_jacobian(careless, 2 * np.eye(3), np.array([1.0, 2.0, 3.0])).outcome is PASS

    def careless_torch(x: torch.Tensor) -> torch.Tensor:
        return x.mul_(2.0)

    assert check_jacobian(careless_torch, 2 * np.eye(3), torch.tensor([1.0, 2.0, 3.0]).double()).outcome is PASS


def test_worst_entry_is_a_wrong_one_even_beside_a_kink_that_is_further_off() -> None:
    """The kink at the second input leaves 0.5 between claim and measurement, yet nobody is to blame for it."""
    check = check_jacobian(lambda x: np.maximum(x, 0.0), np.diag([1.01, 0.0]), np.array([1.0, 0.0]))
    assert (check.outcome, check.wrong, check.unjudged) == (FAIL, 1, 1)
    assert check.worst is not None
    assert check.worst.input_index == (0,)


def test_slope_of_one_output_hidden_in_its_constant_is_inconclusive_beside_a_clear_one() -> None:
    matrix = np.array([[1.0, 2.0], [1e-9, 2e-9]])
    check = check_jacobian(lambda x: matrix @ x + np.array([0.0, 1e3]), matrix, np.array([0.4, -0.3]))
    assert check.outcome is INCONCLUSIVE
    assert check.worst is not None
    assert check.worst.output_index == (1,)


def test_a_random_function_is_inconclusive_even_where_its_claim_looks_wrong() -> None:
    rng = np.random.default_rng(0)
    check = check_jacobian(lambda x: x * (1 + rng.standard_normal(2)), 5 * np.eye(2), np.ones(2))
    assert check.outcome is SlopeOutcome.INCONCLUSIVE
    assert "deterministic" in check.reason


def test_an_output_that_does_not_move_is_judged_beside_one_that_does() -> None:
    def function(x: np.ndarray) -> np.ndarray:
        return np.array([3.0 * x[0], 2.0])

    assert check_jacobian(function, np.array([[3.0], [0.0]]), np.ones(1)).passed
    wrong = check_jacobian(function, np.array([[3.0], [0.1]]), np.ones(1))
    assert wrong.outcome is SlopeOutcome.FAIL
    assert wrong.worst is not None
    assert wrong.worst.output_index == (1,)


@pytest.mark.parametrize("step", [0.0, -1e-3, float("nan")])
def test_a_largest_step_that_is_not_positive_is_refused(step: float) -> None:
    with pytest.raises(ValueError, match="largest_step must be positive"):
        check_jacobian(lambda x: x, np.eye(1), np.ones(1), largest_step=step)

"""The numbers of Figure 14: both losses along a pattern, with the slopes that the claims predict at uniform attention.

Predictions come from the statements in ``theory``, slopes by backpropagation through the definition; no formula is
typed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from jaxtyping import Float

from numerics.errors import InputError
from numerics.gradcheck import SlopeCheck, check_slope
from numerics.inputs import TokenData
from numerics.instances import Instance
from numerics.losses import LogisticLoss
from numerics.measure import Setup, by_reverse_mode
from numerics.numbers import FLOATS
from numerics.patterns import attention_mask, score_pattern
from numerics.rings import to_fraction
from numerics.routes.autodiff import claimed_value
from numerics.tolerance import slope_scale, tolerance
from paper_figures.blind_part import blind_energy, blind_projection, require_hypotheses
from theory.claim import Claim, Part, Quantity
from theory.claims import diagonal_mask, first_order, proposition_1

PATTERN = "alibi"
#: Largest strengths, of the panels and of the insets; the inset keeps all scores within 0.3 of each other at L = 64.
FARTHEST, NEAREST = 0.1, 0.005
#: Weight of the linear read-out: strong enough that the label loss moves by more than 1e-3 over the strengths drawn.
READ_OUT = 3.0

_CLAIMS: dict[str, Claim] = {"full": proposition_1.CLAIM, "diagonal": diagonal_mask.CLAIM}
_DRAWN = (Quantity.SUPERVISED_SLOPE, Quantity.RECONSTRUCTION_SLOPE)


@dataclass(frozen=True)
class Curve:
    """One loss along one pattern under one mask, and its slope at 0 as predicted and as measured.

    Attributes:
        mask, pattern, claim: names; the pattern is "projected" or "raw".
        part: the statement that predicts the slope.
        alphas, losses: the curve; near_alphas, near_losses: the same close to 0.
        loss_at_zero: the loss of uniform attention.
        predicted, measured: slope at 0 by the claim, and by backpropagation in float64.
        tolerance: what rounding can explain of their difference.
        scale: sum of absolute values of the slope's terms: a bound that only cancellation reduces.
        curvature: second derivative of the label loss at 0 by backpropagation; None for the reconstruction loss.
        slope_test: the Taylor remainder test of the prediction on the loss itself.
    """

    mask: str
    pattern: str
    claim: str
    part: Part
    alphas: Float[np.ndarray, " steps"]
    losses: Float[np.ndarray, " steps"]
    near_alphas: Float[np.ndarray, " near"]
    near_losses: Float[np.ndarray, " near"]
    loss_at_zero: float
    predicted: float
    measured: float
    tolerance: float
    scale: float
    curvature: float | None
    slope_test: SlopeCheck

    @property
    def quantity(self) -> Quantity:
        """Whose slope it is."""
        return self.part.quantity

    @property
    def difference(self) -> float:
        """Measured less predicted slope."""
        return self.measured - self.predicted

    @property
    def within(self) -> bool:
        """Whether rounding explains the difference."""
        return abs(self.difference) <= self.tolerance

    def record(self) -> dict[str, object]:
        """Everything drawn, ready for JSON."""
        test = self.slope_test
        return {
            "mask": self.mask,
            "pattern": self.pattern,
            "quantity": self.quantity.value,
            "claim": self.claim,
            "statement": self.part.latex,
            "slope_predicted": self.predicted,
            "slope_measured": self.measured,
            "difference": self.difference,
            "tolerance": self.tolerance,
            "within_tolerance": self.within,
            "slope_scale": self.scale,
            "curvature_measured": self.curvature,
            "remainder_test": {
                "outcome": test.outcome.value,
                "reason": test.reason,
                "slope": test.estimated,
                "slope_error": test.estimated_error,
            },
            "loss_at_zero": self.loss_at_zero,
            "alphas": self.alphas.tolist(),
            "losses": self.losses.tolist(),
            "near_alphas": self.near_alphas.tolist(),
            "near_losses": self.near_losses.tolist(),
        }


@dataclass(frozen=True)
class Measurement:
    """All curves, the data they were measured on, and the share of energy that each projection keeps."""

    data: TokenData
    loss_name: str
    masks: tuple[str, ...]
    blind_energy: dict[str, Fraction]
    curves: tuple[Curve, ...]

    @property
    def holds(self) -> bool:
        """Whether every slope is as predicted, by both routes."""
        return all(curve.within and curve.slope_test.passed for curve in self.curves)

    def record(self) -> dict[str, object]:
        """Everything drawn, ready for JSON."""
        sequences, length, _ = self.data.tokens.shape
        return {
            "tokens": self.data.record(),
            "L": length,
            "N": sequences,
            "pattern": PATTERN,
            "pooling": "mean",
            "loss": {"name": self.loss_name, "read_out": READ_OUT},
            "holds": self.holds,
            "blind_energy": {
                mask: {"exact": str(share), "value": float(share)} for mask, share in self.blind_energy.items()
            },
            "curves": [curve.record() for curve in self.curves],
        }


def measure(data: TokenData) -> Measurement:
    """Follow both losses along both patterns under both masks.

    Args:
        data: sequences with labels 0 and 1, and no fewer than four positions (below, the diagonal mask leaves no
            blind pattern that reconstruction could see).

    Raises:
        InputError: if there are fewer positions or more classes.

    >>> from numerics.inputs import photograph_crops
    >>> crops = photograph_crops(4)
    >>> measurement = measure(TokenData("some crops", crops.tokens[::100], crops.labels[::100]))
    >>> [f"{float(share):.3f}" for share in measurement.blind_energy.values()], measurement.holds
    (['0.892', '0.844'], True)
    """
    length = data.tokens.shape[1]
    if length < 4 or data.classes > 2:
        raise InputError(
            f"Figure 14 needs sequences of at least 4 positions in two classes: L={length}, classes={data.classes}; "
            "use longer sequences and labels 0 and 1"
        )
    raw = score_pattern(PATTERN, length).astype(np.int64)
    energy, curves = {}, []
    for mask_name, claim in _CLAIMS.items():
        mask = attention_mask(mask_name, length)
        projected = blind_projection(raw, mask)
        require_hypotheses(claim, projected, mask)
        energy[mask_name] = blind_energy(raw, mask)
        parts = {part.quantity: part for part in claim.parts}
        general = {part.quantity: part for part in first_order.CLAIM.parts}
        on_projected = _instance(data, _in_floats(projected), mask)
        on_raw = _instance(data, raw.astype(np.float64), mask)
        for quantity in _DRAWN:
            control = _curve(general[quantity], on_raw, "G1", mask_name, "raw", None)
            # What a slope would look like that is not zero: the raw pattern's, on the same tokens.
            visible = abs(control.predicted)
            curves += [_curve(parts[quantity], on_projected, claim.id, mask_name, "projected", visible), control]
    return Measurement(data, LogisticLoss.name, tuple(_CLAIMS), energy, tuple(curves))


def _in_floats(pattern: np.ndarray) -> np.ndarray:
    return np.array([[float(to_fraction(entry)) for entry in row] for row in pattern])


def _instance(data: TokenData, pattern: np.ndarray, mask: np.ndarray) -> Instance:
    samples, length, width = data.tokens.shape
    loss = LogisticLoss(np.full(width, READ_OUT), 2 * data.labels - 1)
    return Instance(
        pattern, mask, np.full(length, 1 / length), data.tokens, np.full(samples, 1 / samples), loss,
        np.eye(width)[0], np.ones(length),
    )  # fmt: skip


def _curve(part: Part, instance: Instance, claim: str, mask: str, pattern: str, visible: float | None) -> Curve:
    setup, quantity = Setup(instance, FLOATS), part.quantity

    def loss(step: float) -> float:
        at = torch.as_tensor(step, dtype=torch.float64)
        return float(setup.value(quantity, setup.attention(at, setup.pattern)))

    alphas, near = (np.linspace(-far, far, steps) for far, steps in ((FARTHEST, 101), (NEAREST, 21)))
    predicted = float(claimed_value(part, instance))
    supervised = quantity is Quantity.SUPERVISED_SLOPE
    return Curve(
        mask=mask,
        pattern=pattern,
        claim=claim,
        part=part,
        alphas=alphas,
        losses=np.array([loss(step) for step in alphas]),
        near_alphas=near,
        near_losses=np.array([loss(step) for step in near]),
        loss_at_zero=loss(0.0),
        predicted=predicted,
        measured=float(by_reverse_mode(instance, quantity)),
        tolerance=tolerance(instance, quantity),
        scale=slope_scale(instance, quantity),
        curvature=float(by_reverse_mode(instance, Quantity.SUPERVISED_CURVATURE)) if supervised else None,
        slope_test=check_slope(loss, predicted, scale=visible or None, largest_step=FARTHEST / 4),
    )

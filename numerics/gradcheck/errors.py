"""What a caller can get wrong: one small hierarchy, messages of the form "rule: value; remedy"."""

from __future__ import annotations


class GradientCheckError(ValueError):
    """The check cannot run on what it was given (a bad argument, never a verdict about a slope)."""


class ShapeError(GradientCheckError):
    """A function, point or claimed Jacobian has a shape that does not fit."""


class PrecisionError(GradientCheckError):
    """A number format is too coarse for the check, or is not a real floating-point format."""

"""Is it really true: independent numeric routes, the verifier, gradient-checking tools, hypothesis strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerics.model_audit import audit_model

__all__ = ["audit_model"]


def __getattr__(name: str) -> Any:
    """Load the audit of a model, and torch with it, only when it is asked for."""
    if name == "audit_model":
        from numerics.model_audit import audit_model

        return audit_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

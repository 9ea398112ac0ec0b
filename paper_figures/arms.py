"""The arms that several tables of the paper have: how they are shown, and over which arm each gains."""

from __future__ import annotations

#: Words for the arms that several tables have.
WORDS = {
    "scratch": "labels alone",
    "scratch-matched": "labels alone, as many updates",
    "spt-finetune": "SPT, then labels",
    "amos": "SPT, as Amos et al. report",
    "attention-frozen": "attention frozen",
    "attention-mlp-frozen": "attention and MLP frozen",
    "attention": "SPT in attention",
    "attention+norms": "SPT in attention, norms",
    "attention+encoder": "SPT in attention, encoder",
    "attention+norms+encoder": "SPT in attention, norms, encoder",
    "attention+encoder+norms": "SPT in attention, encoder, norms",
    "attention+mlp": "SPT in attention, MLP",
    "mlp+norms+encoder": "SPT in MLP, norms, encoder",
    "encoder+attention+mlp": "SPT in encoder, attention, MLP",
    "attention+mlp+norms": "SPT in attention, MLP, norms",
    "qk": "SPT in Q, K",
    "all-but-qk": "SPT in all but Q, K",
    "qk+norms": "SPT in Q, K, norms",
    "qk+encoder+norms": "SPT in Q, K, encoder, norms",
    "mimetic": "mimetic Q, K, no training",
    "predicted": "predicted Q, K, no training",
    "predicted-masked": "predicted Q, K (masked), no training",
}
_INDEPENDENT = " independent"


def words(arm: str) -> str:
    """An arm as it is shown.

    >>> words("qk independent")
    'SPT in Q, K; independent weights'
    """
    if arm.endswith(_INDEPENDENT):
        return f"{words(arm.removesuffix(_INDEPENDENT))}; independent weights"
    return WORDS.get(arm, arm)


def scratch_of(arm: str) -> str | None:
    """The arm over which another gains: scratch from initial weights of the same kind; None for that one itself.

    >>> scratch_of("qk"), scratch_of("qk independent"), scratch_of("scratch")
    ('scratch', 'scratch independent', None)
    """
    base = f"scratch{_INDEPENDENT}" if arm.endswith(_INDEPENDENT) else "scratch"
    return None if arm == base else base

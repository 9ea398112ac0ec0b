"""N1, N2, N3: which score directions label supervision can see at all.

A loss of mean-pooled vectors has a gradient that does not depend on the query (vertical stripes); each further pooling
probe adds as many directions; a read-out of every token sees them all.
"""

from __future__ import annotations

import sympy as sp

from theory.claim import (
    Claim,
    FalseVariant,
    MaskKind,
    Part,
    PoolingKind,
    Quantity,
    Setting,
)
from theory.claims.blind_energy import ROUTES
from theory.claims.first_order import supervised_slope
from theory.claims.proposition_1 import STATEMENT as RECONSTRUCTION_SLOPE
from theory.claims.proposition_1 import derive_reconstruction
from theory.claims.two_gradients import SETTING as MEAN
from theory.derivation import Derivation
from theory.geometry import RING
from theory.hypotheses import zero_centred_column_sums, zero_column_sums, zero_pooled_key_weight
from theory.objects import (
    centred,
    centring,
    gradient_moment,
    loss_gradient,
    pattern,
    pooled_key_weight,
    pooling,
    tokens,
)
from theory.sums import (
    FEATURES,
    POSITIONS,
    Expectation,
    Index,
    Rule,
    Tensor,
    definition_rule,
    index,
    length,
    total,
)

_i, _j, _k, _l, _m = (index(n, POSITIONS) for n in "ijklm")
_c = index("c", FEATURES)
_FULL = Setting(MaskKind.FULL)
_SUMS = (definition_rule(pooled_key_weight), definition_rule(centred))


def _derive_blind(part: Part) -> Derivation:
    return supervised_slope().rewrite(sp.S.Zero, *part.rules)


def _views(setting: Setting, hypothesis: object) -> Part:
    return Part(
        "pooled views", Quantity.SUPERVISED_SLOPE, sp.S.Zero, _derive_blind, setting, (hypothesis,)  # type: ignore[arg-type]
    )  # fmt: skip


def _per_token(statement: sp.Expr) -> Part:
    return Part(
        "a loss of every token", Quantity.RECONSTRUCTION_SLOPE, statement, derive_reconstruction, MEAN,
        (zero_column_sums,),
    )  # fmt: skip


N1 = Claim(
    id="N1",
    title="Every pooled objective is blind",
    sentence="A loss that sees tokens only through pooled vectors (labels, contrast of two views, pooled joint "
    "embeddings) has no slope on the blind set; a loss of every token has.",
    source="theory.md N1",
    parts=(_views(Setting(), zero_pooled_key_weight), _per_token(RECONSTRUCTION_SLOPE)),
    assumptions=(
        "The views (and the other sequences of a batch) are stacked along the features: they share scores and pooling, "
        "so that their pooled vectors are one pooled vector, and any loss of them is a loss of it.",
        "Scores do not depend on the tokens.",
        "Derivative and expectation may be exchanged (automatic on a finite sample space).",
    ),
    depends_on=("G1", "G2", "P1"),
    not_shown=("Views that are pooled differently: every pooling has a blind set of its own (N3).",),
    false_variants=(
        FalseVariant(
            "a loss of every token is blind too", "Reconstruction has no slope on the blind set either.",
            _per_token(sp.S.Zero),
        ),
        FalseVariant(
            "under any pooling", "What mean pooling is blind to, every pooling is blind to.",
            _views(_FULL, zero_centred_column_sums),
        ),
    ),
)  # fmt: skip

_deviation = tokens[_j, _c] - total(tokens[_k, _c], _k) / length
_STRIPES = Expectation(total(loss_gradient[_c] * _deviation, _c)) / length**2


def _derive_gradient(part: Part) -> Derivation:
    along = total(total(pattern[_i, _j] * part.statement, _j), _i)
    rules = (*part.setting.rules, *_SUMS, definition_rule(gradient_moment), definition_rule(centring))
    return supervised_slope().rewrite(along, *rules).coefficient(part.statement, _i, _j)


def _gradient(statement: sp.Expr, setting: Setting = MEAN) -> Part:
    return Part(
        "supervised gradient", Quantity.SUPERVISED_GRADIENT, statement, _derive_gradient, setting, free=(_i, _j)
    )  # fmt: skip


def _derive_periodic(part: Part) -> Derivation:
    return supervised_slope().rewrite(part.statement, *part.rules, *_SUMS, RING.query_rule)


def _along_ring(statement: sp.Expr) -> Part:
    return Part(
        "along relative positions", Quantity.SUPERVISED_SLOPE, statement, _derive_periodic, MEAN, (RING.constraint,)
    )  # fmt: skip


N2 = Claim(
    id="N2",
    title="Labels write vertical stripes",
    sentence="The label gradient in the scores is E[g·(X_j − X̄)]/L² for every query i: at first order labels raise or "
    "lower whole keys, and no relative position on a ring.",
    source="theory.md N2",
    parts=(_gradient(_STRIPES), _along_ring(sp.S.Zero)),
    assumptions=(
        "Full attention, mean pooling; scores do not depend on the tokens.",
        "Derivative and expectation may be exchanged (automatic on a finite sample space).",
    ),
    depends_on=("G1", "G8"),
    not_shown=("That training keeps to stripes after the first step: the stripe fraction is measured there.",),
    false_variants=(
        FalseVariant(
            "labels write relative positions", "Along scores of the offset labels have the slope Σ_k φ_k γ_k / L.",
            _along_ring(total(RING.scores[_k] * gradient_moment[_k], _k) / length),
        ),
        FalseVariant(
            "uncentred stripes", "The gradient is E[g·X_j]/L².", _gradient(gradient_moment[_j] / length**2)
        ),
    ),
)  # fmt: skip

#: ‖ω‖², and the projector onto the pooling weights.
_size = Tensor("‖ω‖²", (), tex=r"\|\omega\|^{2}", definition=lambda: total(pooling[_i] ** 2, _i))
_probe = Tensor(
    "Q", (POSITIONS, POSITIONS), symmetric=True, definition=lambda i, j: pooling[i] * pooling[j] / _size[()]
)
_name_size = Rule("name of ‖ω‖²", total(pooling[_i] ** 2, _i), _size[()])
#: Any symmetric Q: the projector onto the span of several pooling weights, say; its trace is their rank.
_probes = Tensor("Q_r", (POSITIONS, POSITIONS), symmetric=True)
_ANY_POOLING_GRADIENT = pooling[_i] / length * total(centring[_j, _k] * gradient_moment[_k], _k)


def _derive_equation(part: Part) -> Derivation:
    chain = Derivation(part.left, note="left side")
    rules = (definition_rule(_probe), _name_size, definition_rule(centring))
    return chain.rewrite(part.statement, *part.rules, *rules)


def _dimension(label: str, projector: sp.Expr, statement: sp.Expr, setting: Setting = _FULL) -> Part:
    trace = total(total(projector * centring[_j, _j], _j), _i)
    return Part(label, Quantity.ALGEBRAIC, statement, _derive_equation, setting, left=trace)


def _projected(i: Index, j: Index) -> sp.Expr:
    pushed = pooling[_k] / length * total(centring[_l, _m] * gradient_moment[_m], _m)
    return total(total(_probe[i, _k] * centring[j, _l] * pushed, _l), _k)


N3 = Claim(
    id="N3",
    title="How many directions a read-out sees",
    sentence="Pooling with weights ω lets labels see ω_i (Jγ)_j / L and nothing else: L − 1 of L(L − 1) directions, "
    "for CLS as for the mean; r independent probes see r(L − 1), a read-out of every token all.",
    source="theory.md N3",
    parts=(
        _gradient(_ANY_POOLING_GRADIENT, _FULL),
        Part(
            "the projector ωω′/‖ω‖² ⊗ J keeps it", Quantity.ALGEBRAIC, _ANY_POOLING_GRADIENT, _derive_equation, _FULL,
            free=(_i, _j), left=_projected(_i, _j),
        ),
        _dimension("its trace, one probe", _probe[_i, _i], length - 1),
        _dimension("its trace, any probes", _probes[_i, _i], (length - 1) * total(_probes[_i, _i], _i)),
        _dimension("its trace, every token", sp.S.One, length * (length - 1)),
    ),
    assumptions=(
        "Full attention; scores do not depend on the tokens.",
        "The dimension of a space is the trace of the projector onto it.",
        "A loss of several pooled vectors has the sum of their gradients.",
    ),
    depends_on=("G1",),
    not_shown=("Which of the visible directions a given data set moves.",),
    false_variants=(
        FalseVariant(
            "CLS sees more", "CLS pooling sees every direction.",
            _dimension(
                "its trace, one probe", _probe[_i, _i], length * (length - 1), Setting(MaskKind.FULL, PoolingKind.CLS)
            ),
            routes=ROUTES,
        ),
        FalseVariant(
            "the row of the query does not matter", "Under any pooling the gradient is (Jγ)_j / L².",
            _gradient(_ANY_POOLING_GRADIENT / pooling[_i] / length, _FULL),
        ),
    ),
)  # fmt: skip
CLAIMS = (N1, N2, N3)

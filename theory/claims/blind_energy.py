"""G3 and N4: how much of a pattern's energy is blind.

β = ‖ΠΔ̄‖²/‖Δ̄‖², with Π the Frobenius projector onto the blind patterns of a mask and pooling.  For full attention with
mean pooling ΠΔ̄ = JΔJ, and the energies of ALiBi are polynomials in L.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp

from theory.claim import Claim, Constraint, FalseVariant, MaskKind, Part, PoolingKind, Quantity, Route, Setting
from theory.derivation import Derivation
from theory.geometry import RING, distance, line_rules
from theory.hypotheses import zero_centred_column_sums
from theory.objects import centred, centred_pattern, centring, key_count, mask, pattern, pooling, profile
from theory.sums import POSITIONS, Index, Rule, Tensor, definition_rule, delta, index, length, total

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
SETTING = Setting(MaskKind.FULL, PoolingKind.MEAN)
_unfold = (definition_rule(centred_pattern), definition_rule(centring), definition_rule(centred))

BLIND_ENERGY = total(total(centred_pattern[_i, _j] ** 2, _j), _i)
ENERGY = total(total(centred[_i, _j] ** 2, _j), _i)
_column = total(centred[_i, _j], _i)
VISIBLE_ENERGY = total(_column**2, _j) / length

_alibi = {pattern: lambda i, j: -distance[i, j]}
_identity = {pattern: lambda i, j: delta(i, j)}
_alibi_energy = (length**2 - 1) * (3 * length**2 + 8) / 60
_alibi_blind = (length**2 - 1) * (2 * length**2 + 7) / 45

NO_SLOPE = dict.fromkeys(
    ("enclosed", "differentiated", "sloped", "sampled"),
    "an identity between sums: nothing is differentiated; both sides are evaluated modulo a prime, and tests hold "
    "it against the exact projector",
)
ROUTES = (Route.DERIVED, Route.REPLAYED)

#: Multipliers of the row constraints; those of the column constraints are the profile w.
_rows = Tensor("p", (POSITIONS,))

_supported_rows = Constraint(
    "row sums in the mask vanish", "every row of the pattern sums to zero over its keys",
    total(mask[_i, _j] * pattern[_i, _j], _j), (_i,),
)  # fmt: skip
_supported_columns = Constraint(
    "pooled columns in the mask vanish", "the pattern leaves the pooled weight of every key alone",
    total(pooling[_i] * mask[_i, _j] * pattern[_i, _j] / key_count[_i], _i), (_j,),
)  # fmt: skip


def _derive(rules: Sequence[Rule] = ()) -> Callable[[Part], Derivation]:
    def derive(part: Part) -> Derivation:
        chain = Derivation(part.left, note="left side")
        return chain.rewrite(part.statement, *part.rules, *rules)

    return derive


def _derive_blind(part: Part) -> Derivation:
    chain = Derivation(part.left, note="left side")
    chain.rewrite(centred[_i, _j] - total(centred[_k, _j], _k) / length, *part.setting.rules, *_unfold)
    return chain.rewrite(part.statement, *part.rules)


def _equation(
    label: str, left: sp.Expr, right: sp.Expr, rules: Sequence[Rule] = _unfold, *, free: tuple[Index, ...] = (),
    setting: Setting = SETTING, hypotheses: tuple[Constraint, ...] = (), witness: object = None,
) -> Part:  # fmt: skip
    return Part(
        label, Quantity.ALGEBRAIC, right, _derive(rules), setting, hypotheses, free, left, witness or {}  # type: ignore[arg-type]
    )  # fmt: skip


def _alibi_part(label: str, left: sp.Expr, right: sp.Expr) -> Part:
    return _equation(label, left, right, (*_unfold, *line_rules), witness=_alibi)


#: An arbitrary symmetric pattern: the definition's pattern replaced by A + A'.
_half = Tensor("A", (POSITIONS, POSITIONS))


def _symmetric(i: Index, j: Index) -> sp.Expr:
    """``A_ij + A_ji``."""
    return _half[i, j] + _half[j, i]


_multipliers = mask[_i, _j] * (_rows[_i] + pooling[_i] / key_count[_i] * profile[_j]) * pattern[_i, _j]

G3 = Claim(
    id="G3",
    title="Blind energy",
    sentence="The blind part of a pattern is what its rows' and pooled columns' means leave over; for full attention "
    "and mean pooling it is JΔJ. Of ALiBi 4(2L²+7)/(3(3L²+8)) is blind, 8/9 in the limit; of a periodic bias all.",
    source="theory.md G3",
    parts=(
        _equation(
            "projector, any mask and pooling", total(total(_multipliers, _j), _i), sp.S.Zero, (),
            setting=Setting(), hypotheses=(_supported_rows, _supported_columns),
        ),
        _equation("JΔJ has zero rows", total(centred_pattern[_i, _j], _j), sp.S.Zero, free=(_i,)),
        _equation("JΔJ has zero columns", total(centred_pattern[_i, _j], _i), sp.S.Zero, free=(_j,)),
        _equation(
            "what is left is a stripe", centred[_i, _j] - centred_pattern[_i, _j], total(centred[_k, _j], _k) / length,
            free=(_i, _j),
        ),
        _equation("visible energy", ENERGY - BLIND_ENERGY, VISIBLE_ENERGY),
        Part(
            "blind patterns", Quantity.ALGEBRAIC, centred[_i, _j], _derive_blind, SETTING, (zero_centred_column_sums,),
            (_i, _j), centred_pattern[_i, _j],
        ),
        _equation(
            "periodic patterns", _column, sp.S.Zero,
            (definition_rule(centred), RING.query_rule),
            free=(_j,), hypotheses=(RING.constraint,),
        ),
        _equation("identity", BLIND_ENERGY, ENERGY, witness=_identity),
        _alibi_part("ALiBi, energy", ENERGY, _alibi_energy),
        _alibi_part("ALiBi, blind energy", BLIND_ENERGY, _alibi_blind),
        _alibi_part("ALiBi, distance to the limit", BLIND_ENERGY - sp.Rational(8, 9) * ENERGY, (length**2 - 1) / 27),
    ),
    assumptions=(
        "β is undefined where Δ̄ = 0.",
        "Sums of distances and powers of positions are SymPy's; they hold for L ≥ 1.",
    ),
    depends_on=("G2",),
    not_shown=("A closed form of β under other masks; the exact projector computes it (ALiBi at L = 8: see tests).",),
    exempt=NO_SLOPE,
    false_variants=(
        FalseVariant(
            "everything of ALiBi is blind", "ALiBi is blind: its blind energy is its energy.",
            _alibi_part("ALiBi, blind energy", BLIND_ENERGY, _alibi_energy), routes=ROUTES, least_length=3,
        ),
        FalseVariant(
            "8/9 at every length", "Of ALiBi exactly 8/9 is blind at every length.",
            _alibi_part("ALiBi, blind energy", BLIND_ENERGY, sp.Rational(8, 9) * _alibi_energy), routes=ROUTES,
        ),
        FalseVariant(
            "JΔJ under the diagonal mask", "Under the diagonal mask too the row-centred pattern less JΔJ is a stripe.",
            _equation(
                "what is left is a stripe", centred[_i, _j] - centred_pattern[_i, _j],
                total(centred[_k, _j], _k) / length, free=(_i, _j),
                setting=Setting(MaskKind.DIAGONAL, PoolingKind.MEAN),
            ), routes=ROUTES,
        ),
    ),
)  # fmt: skip

_row = total(pattern[_i, _k], _k)
_BY_ROWS = (total(_row**2, _i) - total(_row, _i) ** 2 / length) / length
N4 = Claim(
    id="N4",
    title="What labels see of usual patterns",
    sentence="Labels see of a symmetric pattern only how much its row sums vary: next to nothing for windows and "
    "neighbourhoods, 1/9 of ALiBi in the limit.",
    source="theory.md N4",
    parts=(
        _equation("visible energy of any pattern", ENERGY - BLIND_ENERGY, VISIBLE_ENERGY),
        _alibi_part("visible energy of ALiBi", VISIBLE_ENERGY, (length**2 - 1) * (length**2 - 4) / 180),
        Part(
            "visible energy of a symmetric pattern", Quantity.ALGEBRAIC, _BY_ROWS, _derive(_unfold), SETTING,
            left=VISIBLE_ENERGY, witness={pattern: _symmetric},
        ),
    ),
    assumptions=("Full attention, mean pooling.",),
    depends_on=("G3",),
    exempt=NO_SLOPE,
    not_shown=(
        "Closed forms for windows and neighbourhoods; tests hold the exact energies at L = 1024 against the table of "
        "the README.",
    ),
    false_variants=(
        FalseVariant(
            "row sums alone", "The visible energy of a symmetric pattern is the mean square of its row sums.",
            Part(
                "visible energy of a symmetric pattern", Quantity.ALGEBRAIC, total(_row**2, _i) / length,
                _derive(_unfold), SETTING, left=VISIBLE_ENERGY, witness={pattern: _symmetric},
            ),
            routes=ROUTES,
        ),
        FalseVariant(
            "nothing of ALiBi is visible", "The visible energy of ALiBi is zero.",
            _alibi_part("visible energy of ALiBi", VISIBLE_ENERGY, sp.S.Zero), routes=ROUTES, least_length=3,
        ),
    ),
)  # fmt: skip

CLAIMS = (G3, N4)

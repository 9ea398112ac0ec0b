"""A claim as one object: statement, setting, hypotheses, derivation, assumptions, false variants.

Statements are SymPy expressions typed once.  Everything that is shown or evaluated is printed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum

import sympy as sp

from theory.composition import READOUT, RESIDUAL_READOUT, TWO_LAYERS
from theory.derivation import Derivation, DerivationError, Move
from theory.masking import masked_reconstruction
from theory.objectives import attention, pooled, reconstruction, supervised
from theory.objects import key_count, mask, pooled_key_weight, pooling
from theory.printing import latex, text, tidy
from theory.query_key import QUERY_KEY_PATH
from theory.sums import POSITIONS, Index, Rule, Tensor, delta, index, length, residue


class MaskKind(StrEnum):
    """Which masks a statement speaks of."""

    ANY = "any"
    FULL = "full"
    DIAGONAL = "diagonal"
    RING = "ring"


class PoolingKind(StrEnum):
    """Which pooling weights a statement speaks of."""

    ANY = "any"
    MEAN = "mean"
    CLS = "cls"


#: The query that CLS pooling reads.
cls_position = index("κ", POSITIONS)


class Quantity(StrEnum):
    """The left side of a statement: what the numeric routes compute from the definition."""

    ATTENTION_SLOPE = "attention slope"
    POOLED_SLOPE = "pooled slope"
    TOKEN_INFLUENCE = "token influence"
    SUPERVISED_SLOPE = "supervised slope"
    RECONSTRUCTION_SLOPE = "reconstruction slope"
    SUPERVISED_GRADIENT = "supervised gradient"
    RECONSTRUCTION_GRADIENT = "reconstruction gradient"
    GRADIENT_PRODUCT = "gradient product"
    POOLED_CURVATURE = "pooled curvature"
    SUPERVISED_CURVATURE = "supervised curvature"
    SUPERVISED_SLOPE_ANYWHERE = "supervised slope at any strength"
    MASKED_SLOPE = "slope from masked inputs"
    TRAINED_MASKED_SLOPE = "slope from masked inputs, divided by the actual count"
    QUERY_KEY_SUPERVISED = "supervised slope in M"
    QUERY_KEY_RECONSTRUCTION = "reconstruction slope in M"
    READOUT_SLOPE = "slope behind a read-out"
    RESIDUAL_READOUT_SLOPE = "slope behind a residual and a read-out"
    TWO_LAYER_SLOPE = "slope behind two layers"
    ALGEBRAIC = "algebraic"


QUANTITY_TEX: Mapping[Quantity, str] = {
    Quantity.ATTENTION_SLOPE: r"a'_{ij}(0)",
    Quantity.POOLED_SLOPE: r"h'_{c}(0)",
    Quantity.TOKEN_INFLUENCE: r"v_{j}",
    Quantity.SUPERVISED_SLOPE: r"\mathcal{L}_{\mathrm{sup}}'(0)",
    Quantity.RECONSTRUCTION_SLOPE: r"\mathcal{L}_{\mathrm{SPT}}'(0)",
    Quantity.SUPERVISED_GRADIENT: r"\frac{\partial \mathcal{L}_{\mathrm{sup}}}{\partial s_{ij}}(0)",
    Quantity.RECONSTRUCTION_GRADIENT: r"\frac{\partial \mathcal{L}_{\mathrm{SPT}}}{\partial s_{ij}}(0)",
    Quantity.GRADIENT_PRODUCT: r"\left\langle \nabla_S \mathcal{L}_{\mathrm{SPT}}(0),"
    r" \nabla_S \mathcal{L}_{\mathrm{sup}}(0) \right\rangle",
    Quantity.POOLED_CURVATURE: r"h''_{c}(0)",
    Quantity.SUPERVISED_CURVATURE: r"\mathcal{L}_{\mathrm{sup}}''(0)",
    Quantity.SUPERVISED_SLOPE_ANYWHERE: r"\mathcal{L}_{\mathrm{sup}}'(\alpha)",
    Quantity.MASKED_SLOPE: r"\mathcal{L}_{\rho}'(0)",
    Quantity.TRAINED_MASKED_SLOPE: r"\mathcal{L}_{\rho,\mathrm{trained}}'(0)",
    Quantity.QUERY_KEY_SUPERVISED: r"\left\langle M, \nabla_M \mathcal{L}_{\mathrm{sup}}(0) \right\rangle",
    Quantity.QUERY_KEY_RECONSTRUCTION: r"\left\langle M, \nabla_M \mathcal{L}_{\mathrm{SPT}}(0) \right\rangle",
    Quantity.READOUT_SLOPE: r"\mathcal{L}_{\mathrm{read}}'(0)",
    Quantity.RESIDUAL_READOUT_SLOPE: r"\mathcal{L}_{\mathrm{res+read}}'(0)",
    Quantity.TWO_LAYER_SLOPE: r"\mathcal{L}_{\mathrm{2\,layers}}'(0)",
}

QUANTITY_TEXT: Mapping[Quantity, str] = {
    Quantity.ATTENTION_SLOPE: "a′[i,j](0)",
    Quantity.POOLED_SLOPE: "h′[c](0)",
    Quantity.TOKEN_INFLUENCE: "v[j]",
    Quantity.SUPERVISED_SLOPE: "L_sup′(0)",
    Quantity.RECONSTRUCTION_SLOPE: "L_SPT′(0)",
    Quantity.SUPERVISED_GRADIENT: "∂L_sup/∂s[i,j](0)",
    Quantity.RECONSTRUCTION_GRADIENT: "∂L_SPT/∂s[i,j](0)",
    Quantity.GRADIENT_PRODUCT: "⟨∇_S L_SPT(0), ∇_S L_sup(0)⟩",
    Quantity.POOLED_CURVATURE: "h″[c](0)",
    Quantity.SUPERVISED_CURVATURE: "L_sup″(0)",
    Quantity.SUPERVISED_SLOPE_ANYWHERE: "L_sup′(α)",
    Quantity.MASKED_SLOPE: "L_ρ′(0)",
    Quantity.TRAINED_MASKED_SLOPE: "L_ρ,trained′(0)",
    Quantity.QUERY_KEY_SUPERVISED: "⟨M, ∇_M L_sup(0)⟩",
    Quantity.QUERY_KEY_RECONSTRUCTION: "⟨M, ∇_M L_SPT(0)⟩",
    Quantity.READOUT_SLOPE: "L_read′(0)",
    Quantity.RESIDUAL_READOUT_SLOPE: "L_res+read′(0)",
    Quantity.TWO_LAYER_SLOPE: "L_2layers′(0)",
}

#: The objectives whose first derivative a quantity is, where it is not one of section 5 at uniform attention.
OBJECTIVES: Mapping[Quantity, Callable[[], sp.Expr]] = {
    Quantity.SUPERVISED_SLOPE_ANYWHERE: supervised,
    Quantity.MASKED_SLOPE: masked_reconstruction,
    Quantity.QUERY_KEY_SUPERVISED: QUERY_KEY_PATH.supervised,
    Quantity.QUERY_KEY_RECONSTRUCTION: QUERY_KEY_PATH.reconstruction,
    Quantity.READOUT_SLOPE: READOUT.supervised,
    Quantity.RESIDUAL_READOUT_SLOPE: RESIDUAL_READOUT.supervised,
    Quantity.TWO_LAYER_SLOPE: TWO_LAYERS.supervised,
}


def _mask_rules(kind: MaskKind) -> tuple[Rule, ...]:
    i, j = mask.formal_indices()
    if kind is MaskKind.FULL:
        name, entry, count = "full mask", sp.S.One, length
    elif kind is MaskKind.DIAGONAL:
        name, entry, count = "diagonal mask", 1 - delta(i, j), length - 1
    else:  # a ring mask needs the offset table of theory.geometry, which its derivations bring along
        return ()
    return (Rule(name, mask[i, j], entry), Rule(name, key_count[i], count), Rule(name, 1 / key_count[i], 1 / count))


def _pooling_rules(kind: PoolingKind) -> tuple[Rule, ...]:
    (i,) = pooling.formal_indices()
    if kind is PoolingKind.MEAN:
        return (Rule("mean pooling", pooling[i], 1 / length),)
    if kind is PoolingKind.CLS:
        return (Rule("CLS pooling", pooling[i], delta(i, cls_position)),)
    return ()


@dataclass(frozen=True)
class Setting:
    """Mask and pooling of a statement, with the rules that specialise general formulas to them."""

    mask: MaskKind = MaskKind.ANY
    pooling: PoolingKind = PoolingKind.ANY

    @property
    def rules(self) -> tuple[Rule, ...]:
        return _mask_rules(self.mask) + _pooling_rules(self.pooling)


@dataclass(frozen=True)
class Constraint:
    """A hypothesis: ``expression = 0`` for all its free indices, linear in the score pattern."""

    name: str
    sentence: str
    expression: sp.Expr
    free: tuple[Index, ...]
    rewriting: Rule | None = None

    def __post_init__(self) -> None:
        if self.rewriting is None:
            return
        stated = sp.Add(self.rewriting.left, -self.rewriting.right)
        if not residue(self.expression, stated).is_zero:
            raise ValueError(
                f"{self.name}: the rule says {text(stated)} = 0, the constraint {text(self.expression)} = 0; "
                "write both as the same equation"
            )

    @property
    def rule(self) -> Rule:
        """The hypothesis as a rewriting rule; without one of its own, its expression must be one monomial."""
        if self.rewriting is not None:
            return self.rewriting
        fixed = {s for s in self.expression.free_symbols if isinstance(s, Index)} - set(self.free)
        if fixed:  # a rule holds for all values of its indices
            names = ", ".join(sorted(i.name for i in fixed))
            raise ValueError(f"{self.name}: only a constraint on all indices is a rule; free is missing {names}")
        return Rule(self.name, self.expression, sp.S.Zero)

    @property
    def latex(self) -> str:
        quantifier = ",".join(i.name for i in self.free)
        return rf"{latex(self.expression)} = 0 \quad \forall {quantifier}"


@dataclass(frozen=True)
class Part:
    """One equation of a claim: a quantity that the definition fixes, and its claimed value.

    ``witness`` replaces tensors by expressions: tokens and loss gradient by a deterministic law (chosen to prove an
    "only if"), the pattern or a matrix by the form that the statement speaks of.
    ``left`` is the left side of an algebraic equation; other quantities start at the definition.
    """

    label: str
    quantity: Quantity
    statement: sp.Expr
    derive: Callable[[Part], Derivation]
    setting: Setting
    hypotheses: tuple[Constraint, ...] = ()
    free: tuple[Index, ...] = ()
    left: sp.Expr | None = None
    witness: Mapping[Tensor, Callable[..., sp.Expr]] = field(default_factory=dict)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules of setting, hypotheses and witness law."""
        laws = tuple(
            Rule("witness law", tensor[tensor.formal_indices()], law(*tensor.formal_indices()))
            for tensor, law in self.witness.items()
        )
        return (*laws, *(h.rule for h in self.hypotheses), *self.setting.rules)

    @property
    def latex(self) -> str:
        left = latex(self.left) if self.left is not None else QUANTITY_TEX[self.quantity]
        return f"{left} = {latex(self.statement)}"

    @property
    def text(self) -> str:
        left = text(self.left) if self.left is not None else QUANTITY_TEXT[self.quantity]
        return f"{left} = {text(self.statement)}"

    def derivation(self) -> Derivation:
        """Derive the statement; raises ``DerivationError`` when the chain does not lead from the definition to it."""
        chain = copy(self.derive(self))
        chain.steps = list(chain.steps)  # lemmas are shared between claims; a statement's own line is not theirs
        self._require_origin(chain)
        self._require_conditions(chain)
        if chain.expression != tidy(self.statement):
            chain.rewrite(self.statement, note="statement")
        return chain

    def _require_origin(self, chain: Derivation) -> None:
        """A chain must start at the definition of the part's quantity and take as many derivatives as it says."""
        start, wanted = _origin(self)
        first = chain.steps[0].expression
        moves = [step.move for step in chain.steps]
        taken = (moves.count(Move.DIFFERENTIATE), moves.count(Move.COEFFICIENT))
        zero = int(wanted[0] > 0 and self.quantity is not Quantity.SUPERVISED_SLOPE_ANYWHERE)
        at_zero = moves.count(Move.AT_ZERO)
        if (start is not None and first != tidy(start)) or (*taken, at_zero) != (*wanted, zero):
            raise DerivationError(
                f"the derivation of {self.text} must start at the definition of its left side, take {wanted[0]} "
                f"derivatives in α, set α = 0 {zero} times and read off coefficients {wanted[1]} times; it starts at "
                f"{text(first)} and does so {taken[0]}, {at_zero} and {taken[1]} times",
                first,
            )

    def _require_conditions(self, chain: Derivation) -> None:
        """A lemma that holds in one setting or under hypotheses may be cited only where the part grants them."""
        for lemma in chain.conditional:
            wider = lemma.setting in (self.setting, Setting())
            if not wider or not {*lemma.hypotheses} <= {*self.hypotheses}:
                needed = ", ".join([f"mask {lemma.setting.mask}", f"pooling {lemma.setting.pooling}"]
                                   + [h.name for h in lemma.hypotheses])  # fmt: skip
                raise DerivationError(
                    f"the derivation of {self.text} cites the lemma {lemma.id}, which needs {needed}; state it of such "
                    "patterns, masks and poolings, or derive it without the lemma",
                    chain.expression,
                )


def _origin(part: Part) -> tuple[sp.Expr | None, tuple[int, int]]:
    """First line of a derivation (``None``: the part's own), and its numbers of derivatives and coefficient arrays."""
    quantity = part.quantity
    if quantity is Quantity.ALGEBRAIC:
        return part.left, (0, 0)
    if quantity is Quantity.GRADIENT_PRODUCT:
        return None, (0, 0)
    if quantity is Quantity.TOKEN_INFLUENCE:
        return pooled_key_weight[part.free].unfold(), (0, 0)
    if quantity is Quantity.ATTENTION_SLOPE:
        return attention(*part.free).unfold(), (1, 0)
    if quantity is Quantity.POOLED_SLOPE:
        return pooled(*part.free).unfold(), (1, 0)
    if quantity is Quantity.POOLED_CURVATURE:
        return pooled(*part.free).unfold(), (2, 0)
    if quantity in OBJECTIVES:
        return OBJECTIVES[quantity](), (1, 0)
    objective = reconstruction() if "reconstruction" in quantity else supervised()
    if quantity is Quantity.SUPERVISED_CURVATURE:
        return objective, (2, 0)
    return objective, (1, int("gradient" in quantity))


class Route(StrEnum):
    """Routes that can reject a false variant."""

    DERIVED = "derived"
    REPLAYED = "replayed"
    ENCLOSED = "enclosed"
    DIFFERENTIATED = "differentiated"
    SLOPED = "sloped"


EVERY_ROUTE = tuple(Route)


@dataclass(frozen=True)
class FalseVariant:
    """A tempting false statement; each listed route must reject it at a counterexample found by search.

    The search uses a linear loss and one sample; a quadratic term, or a second sample whose tokens are zero, where only
    that can tell the difference.
    """

    id: str
    sentence: str
    part: Part
    routes: tuple[Route, ...] = EVERY_ROUTE
    least_length: int = 2
    least_width: int = 1
    quadratic_loss: bool = False
    second_sample: bool = False


@dataclass(frozen=True)
class Claim:
    """A proposition with everything that is needed to check it."""

    id: str
    title: str
    sentence: str
    source: str
    parts: tuple[Part, ...]
    assumptions: tuple[str, ...]
    false_variants: tuple[FalseVariant, ...]
    depends_on: tuple[str, ...] = ()
    not_needed: tuple[str, ...] = ()
    not_shown: tuple[str, ...] = ()
    exempt: Mapping[str, str] = field(default_factory=dict)
    least_length: int = 2

    @property
    def hypotheses(self) -> tuple[Constraint, ...]:
        """Hypotheses of all parts, without repetition."""
        return tuple(dict.fromkeys(h for part in self.parts for h in part.hypotheses))

"""Every tensor and curve that a claim, a false variant, a lemma or an identity rests on, however deep."""

import sys

import sympy as sp

from theory import claims, lemmas
from theory.claim import OBJECTIVES
from theory.curves import Curve, CurveEntry
from theory.identities import identities
from theory.objectives import PATHS, Loss, Path
from theory.objects import DEFINED
from theory.sums import FEATURES, POSITIONS, Entry, Index, Range, Rule, Tensor
from theory.sums.symbols import is_delta

#: Letters that definitions use for bound indices, and names that the normal form makes.
LETTERS = {POSITIONS: [*"ijklrst", "p_1", "p_2"], FEATURES: [*"cefgab", "f_1", "f_2"]}


def formal(ranges: tuple[Range, ...]) -> tuple[Index, ...]:
    """The customary index of every slot."""
    letters = {r: iter(LETTERS[r]) for r in LETTERS}
    return tuple(Index(next(letters[r]), r) for r in ranges)


def module_rules() -> list[Rule]:
    """Rules that stand at the top of a module of ``theory``, alone or in a tuple."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("theory")]
    held = [item for module in modules for value in vars(module).values() for item in _items(value)]
    return list({id(item): item for item in held if isinstance(item, Rule)}.values())


def _items(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _roots() -> list[sp.Expr]:
    parts = [p for claim in claims() for p in (*claim.parts, *(v.part for v in claim.false_variants))]
    roots = [e for part in parts for e in (part.statement, part.left) if e is not None]
    roots += [h.expression for part in parts for h in part.hypotheses]
    rules = [rule for part in parts for rule in part.setting.rules]
    rules += [h.rewriting for part in parts for h in part.hypotheses if h.rewriting is not None]
    rules += module_rules()
    roots += [side for rule in rules for side in (rule.left, rule.right)]
    roots += [law(*t.formal_indices()) for part in parts for t, law in part.witness.items()]
    roots += [step.expression for lemma in lemmas() for step in lemma.derivation.steps]
    roots += [step.expression for claim in claims() for part in claim.parts for step in part.derivation().steps]
    roots += [side for identity in identities() for side in (identity.left, identity.right)]
    roots += [make() for make in OBJECTIVES.values()] + [t[t.formal_indices()] for t in DEFINED]
    return roots


def _curves_of(path: Path) -> list[Curve]:
    return [held for held in vars(path).values() if isinstance(held, Curve)]


def reachable() -> tuple[list[Tensor], list[Curve]]:
    """Tensors (but for deltas) and curves, each once, in the order in which they are met."""
    tensors: dict[Tensor, None] = {}
    curves: dict[Curve, None] = dict.fromkeys(c for path in PATHS.values() for c in _curves_of(path))
    todo, seen = _roots(), set()
    todo += [curve(*formal(curve.ranges)) for curve in curves]
    while todo:
        expression = todo.pop()
        if expression in seen:
            continue
        seen.add(expression)
        for node in sp.preorder_traversal(expression):
            if isinstance(node, Entry) and not is_delta(node.tensor) and node.tensor not in tensors:
                tensors[node.tensor] = None
                if node.tensor.definition is not None:
                    todo.append(node.tensor.definition(*node.tensor.formal_indices()))
            elif isinstance(node, CurveEntry):
                curves[node.curve] = None
                if node.curve.definition is not None:
                    todo.append(node.curve.definition(*formal(node.curve.ranges)))
            elif isinstance(node, Loss):
                curves |= dict.fromkeys(_curves_of(node.path))
    return list(tensors), list(curves)

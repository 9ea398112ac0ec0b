"""Mutants of a module's syntax tree: one small change each, in functions and in module-level statements alike."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """The ``number``-th mutant of a module; ``before`` and ``after`` are the smallest changed piece."""

    module: str
    number: int
    line: int
    operator: str
    before: str
    after: str
    original: ast.Module
    place: int
    changed: ast.AST

    @property
    def tree(self) -> ast.Module:
        """The whole module with the change planted."""
        return _planted(self.original, self.place, self.changed)

    @property
    def key(self) -> str:
        """What identifies a mutant in a file of results, as long as its module is unchanged."""
        return f"{self.module}:{self.number}"


def mutants(module: str, source: str) -> list[Mutant]:
    """All mutants of a module, in the order of its lines."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    made = []
    for place, node in enumerate(ast.walk(tree)):
        if not hasattr(node, "lineno") or _ignored(node, parents):
            continue
        for operator, changed in _changes(node):
            made.append((node.lineno, place, operator, changed, node))
    made.sort(key=lambda found: found[:2])
    return [
        Mutant(module, number, line, operator, _show(node), _show(changed), tree, place, changed)
        for number, (line, place, operator, changed, node) in enumerate(made)
    ]


def _show(node: ast.AST) -> str:
    shown = " ".join(ast.unparse(node).split())
    return shown if len(shown) <= 160 else shown[:157] + "..."


def _planted(tree: ast.Module, place: int, changed: ast.AST) -> ast.Module:
    made = copy.deepcopy(tree)
    target = next(node for n, node in enumerate(ast.walk(made)) if n == place)

    class Plant(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return copy.deepcopy(changed) if node is target else self.generic_visit(node)

    planted = Plant().visit(made)
    assert isinstance(planted, ast.Module)
    return ast.fix_missing_locations(planted)


def _ignored(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Annotations, messages of errors, text, import lists: no behaviour that a verdict depends on."""
    while node in parents:
        above = parents[node]
        if isinstance(above, (ast.Raise, ast.JoinedStr, ast.Assert)):
            return True
        if isinstance(above, (ast.AnnAssign, ast.arg)) and node is above.annotation:
            return True
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) and node is above.returns:
            return True
        if isinstance(above, ast.ClassDef) and node in above.decorator_list:
            return True
        node = above
    return False


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            yield "swap operands", ast.BinOp(node.right, node.op, node.left)
        elif type(node.op) in _ARITHMETIC and not _is_text(node.left):
            yield "arithmetic", ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        yield "arithmetic", ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
        yield "dropped statement", ast.Pass()
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        yield "comparison", ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "dropped not", node.operand
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "true/false", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield "constant + 1", ast.Constant(node.value + 1)
        yield "constant − 1", ast.Constant(node.value - 1)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        first, second = node.slice.elts
        if ast.dump(first) != ast.dump(second):
            yield "transposed index", ast.Subscript(node.value, ast.Tuple([second, first], ast.Load()), node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in ("Zero", "One"):
        yield "zero/one", ast.Attribute(node.value, "One" if node.attr == "Zero" else "Zero", node.ctx)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "dropped statement", ast.Pass()
    elif isinstance(node, ast.If) and not node.orelse:
        yield "dropped branch", ast.Pass()
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and node.value.args:
        if len(node.value.args) == 1 and not isinstance(node.value.args[0], (ast.Starred, ast.GeneratorExp)):
            yield "dropped call", ast.Return(node.value.args[0])
    elif isinstance(node, (ast.Continue, ast.Break)):
        yield "continue/break", ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))

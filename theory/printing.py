"""Mathematics for people: LaTeX and one-line Unicode, with readable names for bound indices."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from theory.sums.symbols import FEATURES, POSITIONS, Index, Tensor, substitute, total

_LETTERS = {POSITIONS.name: "ijklrstuvwxyz", FEATURES.name: "cefgab"}


def free_letter(range_: Any, taken: set[str]) -> Index:
    """The first customary letter of a range that is not taken."""
    letters = _LETTERS[range_.name]
    names = [*letters, *(f"{letter}_{n}" for n in range(1, 9) for letter in letters)]
    return Index(next(n for n in names if n not in taken), range_)


def tidy(expression: sp.Expr) -> sp.Expr:
    """Rename bound indices to customary letters, without capture."""
    return _tidy(sp.sympify(expression), {s.name for s in expression.free_symbols if isinstance(s, Index)})


def _tidy(expression: sp.Expr, taken: set[str]) -> sp.Expr:
    if isinstance(expression, (Index, Tensor)) or not expression.args:
        return expression
    if isinstance(expression, sp.Sum):
        names = set(taken)
        renamed: dict[Index, Index] = {}
        for bound, *_ in reversed(expression.limits):
            renamed[bound] = free_letter(bound.range, names)
            names.add(renamed[bound].name)
        body = _tidy(substitute(expression.function, renamed), names)
        return total(body, *(renamed[bound] for bound, *_ in expression.limits))
    return expression.func(*(_tidy(a, taken) for a in expression.args))


def _flat(expression: sp.Sum) -> tuple[sp.Expr, list[Index]]:
    """Body and indices of a sum, outermost index first, with directly nested sums merged."""
    indices = [bound for bound, *_ in reversed(expression.limits)]
    body = expression.function
    if isinstance(body, sp.Sum):
        body, inner = _flat(body)
        indices += inner
    return body, indices


class _Latex(LatexPrinter):
    def _print_Sum(self, expression: sp.Sum) -> str:
        body, indices = _flat(expression)
        groups: dict[str, list[Index]] = {}
        for i in indices:
            groups.setdefault(i.range.name, []).append(i)
        signs = [
            rf"\sum_{{{','.join(self._print(i) for i in group)}=1}}^{{{self._print(group[0].range.size)}}}"
            for group in groups.values()
        ]
        text = self._print(body)
        if isinstance(body, sp.Add):
            text = rf"\left({text}\right)"
        return " ".join([*signs, text])

    def _print_Index(self, expression: Index) -> str:
        greek = {"κ": r"\kappa"}
        return greek.get(expression.name, expression.name)


class _Text(StrPrinter):
    def _print_Sum(self, expression: sp.Sum) -> str:
        body, indices = _flat(expression)
        text = self.parenthesize(body, PRECEDENCE["Mul"])
        return f"Σ_{{{','.join(i.name for i in indices)}}} {text}"

    def _print_Pow(self, expression: sp.Pow, rational: bool = False) -> str:
        if expression.exp == 2:
            return f"{self.parenthesize(expression.base, PRECEDENCE['Pow'])}²"
        return str(super()._print_Pow(expression, rational))

    def _print_Mul(self, expression: sp.Mul) -> str:
        return str(super()._print_Mul(expression)).replace("*", "·")


def latex(expression: sp.Expr) -> str:
    """LaTeX of an expression of the calculus."""
    return str(_Latex({"fold_short_frac": False}).doprint(tidy(expression)))


def text(expression: sp.Expr) -> str:
    """One line of Unicode."""
    return str(_Text().doprint(tidy(expression)))

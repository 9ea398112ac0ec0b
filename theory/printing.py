"""Mathematics for people: LaTeX and one-line Unicode, with readable names for bound indices.

In the one-line form a sum sign reaches to the end of its product: ``Σ_{i} a[i]·b[i] + c`` is ``(Σ_{i} a[i]·b[i]) + c``.
"""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter
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


class _Ordered:
    """Writes a positive term of a sum first where there is one."""

    def _as_ordered_terms(self, expression: sp.Expr, order: Any = None) -> list[sp.Expr]:
        terms = super()._as_ordered_terms(expression, order)  # type: ignore[misc]
        return sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))


class _Latex(_Ordered, LatexPrinter):
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
        if isinstance(body, sp.Add) or text.startswith("-"):
            text = rf"\left({text}\right)"
        return " ".join([*signs, text])

    def _print_Symbol(self, expression: sp.Symbol, style: str = "plain") -> str:
        return _GREEK.get(expression.name, str(super()._print_Symbol(expression, style)))

    _print_Index = _print_Symbol


_GREEK = {"α": r"\alpha", "κ": r"\kappa", "ρ": r"\rho"}
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class _Text(_Ordered, StrPrinter):
    def _print_Add(self, expression: sp.Add, order: Any = None) -> str:
        line = ""
        for term in self._as_ordered_terms(expression, order):
            shown = self._print(term)
            joint = "" if not line else " − " if shown.startswith("−") else " + "
            line += joint + (shown.removeprefix("−") if line else shown)
        return line

    def _print_Integer(self, expression: sp.Integer) -> str:
        return str(int(expression)).replace("-", "−")

    def _print_Rational(self, expression: sp.Rational) -> str:
        return f"{self._print_Integer(expression.p)}/{expression.q}"

    def _print_Sum(self, expression: sp.Sum) -> str:
        body, indices = _flat(expression)
        return f"Σ_{{{','.join(i.name for i in indices)}}} {self._term(body)}"

    def _print_Pow(self, expression: sp.Pow, rational: bool = False) -> str:
        base, exponent = expression.args
        if not exponent.is_Integer:
            return f"{self._factor(base)}^({self._print(exponent)})"
        if exponent < 0:
            return f"1/{self._factor(base**-exponent)}"
        return self._factor(base) + str(exponent).translate(_SUPERSCRIPTS)

    def _print_Mul(self, expression: sp.Mul) -> str:
        coefficient, _ = expression.as_coeff_Mul()
        if coefficient < 0:
            return f"−{self._term(-expression)}"
        above: list[sp.Expr] = []
        below: list[sp.Expr] = []
        for factor in expression.as_ordered_factors():
            if factor.is_Rational:
                above += [sp.Integer(factor.p)] if factor.p != 1 else []
                below += [sp.Integer(factor.q)] if factor.q != 1 else []
            elif isinstance(factor, sp.Pow) and factor.exp.is_Integer and factor.exp < 0:
                below.append(factor.base**-factor.exp)
            else:
                above.append(factor)
        above.sort(key=lambda factor: isinstance(factor, sp.Add))
        last = next((f for f in reversed(above) if isinstance(f, sp.Sum)), None)
        if last is None:
            return self._fraction(above, below)
        above.remove(last)
        if not above and not below:
            return str(self._print(last))
        scale = self._fraction(above, below)
        return f"({scale})·{self._print(last)}" if below else f"{scale}·{self._print(last)}"

    def _fraction(self, above: list[sp.Expr], below: list[sp.Expr]) -> str:
        numerator = "·".join(self._factor(f) for f in above) or "1"
        denominator = "·".join(self._factor(f) for f in below)
        if not below:
            return numerator
        return f"{numerator}/({denominator})" if len(below) > 1 else f"{numerator}/{denominator}"

    def _factor(self, expression: sp.Expr) -> str:
        shown = str(self._print(expression))
        compound = isinstance(expression, (sp.Add, sp.Mul, sp.Sum)) or shown.startswith(("−", "1/"))
        return f"({shown})" if compound else shown

    def _term(self, expression: sp.Expr) -> str:
        shown = str(self._print(expression))
        return f"({shown})" if isinstance(expression, sp.Add) or shown.startswith("−") else shown


def latex(expression: sp.Expr) -> str:
    """LaTeX of an expression of the calculus."""
    return str(_Latex({"fold_short_frac": False}).doprint(tidy(expression)))


def text(expression: sp.Expr) -> str:
    """One line of Unicode.

    >>> from theory.sums import length, total
    >>> i, j = Index("i", POSITIONS), Index("j", POSITIONS)
    >>> pattern = Tensor("Δ", (POSITIONS, POSITIONS))
    >>> text(-total(pattern[i, j] ** 2, j, i) / length**2 + pattern[i, i])
    'Δ[i,i] − (1/L²)·Σ_{j,k} Δ[j,k]²'
    """
    return str(_Text().doprint(tidy(expression)))

"""Printed mathematics is unambiguous: the one-line text is parsed back and evaluated; LaTeX is typeset by a library."""

import re
from fractions import Fraction
from xml.etree import ElementTree

import pytest
import sympy as sp
from hypothesis import example, given, settings
from latex2mathml.converter import convert

from tests.theory.brute_force import free_indices, placements, value
from tests.theory.strategies import NONZERO, PLAIN, POOL, VECTOR, expressions, generic_model
from theory import claims, lemmas, objects
from theory.claim import cls_position
from theory.curves import alpha
from theory.identities import identities
from theory.objectives import attention, loss_slope, reconstruction, supervised
from theory.printing import free_letter, latex, text, tidy
from theory.sums import FEATURES, POSITIONS, Expectation, Tensor, index, length, total

i, j, k = (index(n, POSITIONS) for n in "ijk")
c = index("c", FEATURES)

_LINES = [
    *(step.expression for claim in claims() for part in claim.parts for step in part.derivation().steps),
    *(step.expression for lemma in lemmas() for step in lemma.derivation.steps),
    *(lemma.left for lemma in lemmas()),
    *(side for identity in identities() for side in (identity.left, identity.right)),
    *(h.expression for claim in claims() for h in claim.hypotheses),
    *(v.part.statement for claim in claims() for v in claim.false_variants),
    supervised(),
    reconstruction(),
    loss_slope(c, at=0),
    attention(i, j, order=3),
    attention(i, j, order=5),
]
EVERYTHING = list(dict.fromkeys(_LINES))

# --- the one-line text -----------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\s*(?:(?P<sum>Σ_\{(?P<bound>[^}]*)\})|(?P<expect>E\[)|(?P<entry>(?P<tensor>[A-Za-zδ]\u0304?)\[(?P<places>[^\]]*)\])"
    r"|(?P<size>[Ld])|(?P<number>\d+)|(?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(?P<sign>[-+−·/()\]]))"
)
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


class Reader:
    """Evaluates the one-line text, by its stated convention: a sum sign reaches to the end of its product."""

    def __init__(self, line, model, names):
        self.tokens, self.model = [], model
        position = 0
        while position < len(line):
            found = _TOKEN.match(line, position)
            assert found, f"unreadable at {line[position:]!r} in {line!r}"
            self.tokens.append(found)
            position = found.end()
        self.start = {n.name: place for n, place in names.items()}

    def read(self):
        got, end = self.terms(0, self.start, None)
        assert end == len(self.tokens)
        return got

    def sign(self, at, *wanted):
        return at < len(self.tokens) and self.tokens[at]["sign"] in wanted

    def terms(self, at, names, sample):
        sum_, factor = Fraction(0), 1
        if self.sign(at, "−"):
            factor, at = -1, at + 1
        while True:
            got, at = self.product(at, names, sample)
            sum_ += factor * got
            if not self.sign(at, "+", "−"):
                return sum_, at
            factor, at = (1 if self.sign(at, "+") else -1), at + 1

    def product(self, at, names, sample):
        got, at = self.factor(at, names, sample)
        while self.sign(at, "·", "/"):
            divide = self.sign(at, "/")
            assert not (divide and self.tokens[at + 1]["sum"]), "a bare sum in a denominator"
            other, at = self.factor(at + 1, names, sample)
            got = got / other if divide else got * other
        return got, at

    def factor(self, at, names, sample):
        token = self.tokens[at]
        if token["sum"]:
            return self.sum(at, names, sample)
        if token["sign"] == "(":
            got, at = self.terms(at + 1, names, sample)
            assert self.sign(at, ")")
        elif token["expect"]:
            parts = [self.terms(at + 1, names, s) for s in range(len(self.model.weights))]
            got = sum(w * part for w, (part, _) in zip(self.model.weights, parts, strict=True))
            at = parts[0][1]
            assert self.sign(at, "]")
        elif token["entry"]:
            place = tuple(names[n] for n in token["places"].split(","))
            kronecker = token["tensor"] == "δ"
            got = (
                Fraction(int(place[0] == place[1])) if kronecker else self.model.entries[token["tensor"]](place, sample)
            )
        elif token["size"]:
            got = Fraction(self.model.token_count if token["size"] == "L" else self.model.token_width)
        else:
            assert token["number"], token
            got = Fraction(int(token["number"]))
        at += 1
        if at < len(self.tokens) and self.tokens[at]["power"]:
            got, at = got ** int(self.tokens[at]["power"].translate(_DIGITS)), at + 1
        return got, at

    def sum(self, at, names, sample):
        held, end = Fraction(0), None
        assignments = [names]
        for bound in self.tokens[at]["bound"].split(","):
            size = self.model.token_width if bound[0] in "cefgab" else self.model.token_count
            assignments = [{**a, bound: n} for a in assignments for n in range(size)]
        for assigned in assignments:
            got, end = self.product(at + 1, assigned, sample)
            held += got
        return held, end


@settings(max_examples=200)
@given(expressions())
@example(total(PLAIN[i, j], i) * VECTOR[j] / NONZERO[j] - total(VECTOR[i] - length, i) ** 2 / length)
@example((-total(-VECTOR[i], i)) ** 3 / (2 * length**4 * (length - 1)))
@example(1 / (1 + length) ** 2 - sp.Rational(2, 3))
def test_text_can_be_read_back(expression):
    line = text(expression)
    assert "\n" not in line
    assert "*" not in line
    model = generic_model(2, 2, 3)
    for names in placements(free_indices(expression), model):
        assert Reader(line, model, names).read() == value(expression, model, names)


@pytest.mark.parametrize("expression", EVERYTHING)
def test_text_is_one_line_without_programming_signs(expression):
    line = text(expression)
    assert line
    for sign in ("\n", "*", "··", "~", "Sum(", "--", "+ −", "− −"):
        assert sign not in line
    assert line.count("(") == line.count(")")
    assert line.count("[") == line.count("]")


def test_text_of_familiar_formulas():
    weight = total(objects.pooling[i] * objects.centred[i, j] / objects.key_count[i], i)
    assert text(weight) == "Σ_{i} ω[i]·Δ̄[i,j]/n[i]"
    assert text(-objects.second_moment[i, j] / length**2) == "−C[i,j]/L²"
    assert text(total(VECTOR[i], i) * VECTOR[j]) == "w[j]·Σ_{i} w[i]"
    assert text(1 / NONZERO[i] ** 2) == "1/z[i]²"
    assert text(attention(i, j, at=0, order=2)) == "a″[i,j](0)"
    assert text(attention(i, j, order=1)) == "a′[i,j](α)"
    assert text(sp.exp(alpha * PLAIN[i, j])) == "exp(α·D[i,j])"
    assert text(sp.sqrt(length)) == "L^(1/2)"
    assert text(sp.Integer(-3)) == "−3"


@given(expressions())
def test_tidy_names_are_customary_and_differ_from_the_free_ones(expression):
    free = {n.name for n in free_indices(expression)}
    sums = [node for node in sp.preorder_traversal(tidy(expression)) if isinstance(node, sp.Sum)]
    bound = {limit[0].name for node in sums for limit in node.limits}
    assert not bound & free
    assert all(re.fullmatch(r"[a-z](_\d)?", name) for name in bound)


def test_letters_do_not_run_out():
    taken: set[str] = set()
    for _ in range(40):
        taken.add(free_letter(POSITIONS, taken).name)
    assert len(taken) == 40
    assert free_letter(FEATURES, {"c"}).name == "e"


# --- LaTeX -----------------------------------------------------------------------------------------------------------

_COMMANDS = {
    "frac", "sum", "left", "right", "mathbb", "bar", "Delta", "alpha", "kappa", "gamma", "omega", "ell", "partial",
    "delta", "mu", "sqrt", "rho", "tilde", "hat", "Sigma", "Lambda", "varphi", "psi", "cdot", "top",
}  # fmt: skip


@pytest.mark.parametrize("expression", EVERYTHING)
def test_latex_uses_known_commands_and_is_typeset(expression):
    source = latex(expression)
    assert source.isascii()
    assert set(re.findall(r"\\([A-Za-z]+)", source)) <= _COMMANDS
    assert source.count("{") == source.count("}")
    tree = ElementTree.fromstring(convert(source))
    assert tree.tag.endswith("math")
    assert "\\" not in "".join(tree.itertext())


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_statements_and_hypotheses_are_typeset(claim):
    for source in [part.latex for part in claim.parts] + [h.latex for h in claim.hypotheses]:
        shown = "".join(ElementTree.fromstring(convert(source)).itertext())
        assert "=" in shown
        assert "\\" not in shown


def test_latex_of_familiar_formulas():
    assert latex(objects.centred[cls_position, j]) == r"\bar{\Delta}_{\kappa j}"
    assert latex(supervised()) == r"\mathbb{E}\left[\ell\left(h(\alpha), Y\right)\right]"
    assert latex(total(VECTOR[i] - 1, i)) == r"\sum_{i=1}^{L} \left(w_{i} - 1\right)"
    assert latex(total(-VECTOR[i], i)) == r"\sum_{i=1}^{L} \left(- w_{i}\right)"
    assert latex(total(objects.tokens[i, c], i, c)) == r"\sum_{c=1}^{d} \sum_{i=1}^{L} X_{i c}"
    assert latex(Expectation(objects.tokens[i, c])) == r"\mathbb{E}\left[X_{i c}\right]"
    assert latex(attention(i, j, order=1)) == r"a'_{i j}(\alpha)"


def test_tensors_print_by_their_own_names():
    """SymPy has printers for a class of its own called Tensor."""
    tensor = Tensor("D", (POSITIONS, POSITIONS), tex="D")
    assert str(tensor) == "D"
    assert sp.latex(tensor) == "D"
    assert sp.latex(objects.pattern) == r"\Delta"
    assert POOL[POSITIONS]
    assert str(objects.pattern[i, j] * alpha) == "α*Δ[i,j]"

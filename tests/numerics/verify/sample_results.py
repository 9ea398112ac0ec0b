"""A results file like the verifier's, with everything a report must survive.

It holds every status, a claim that failed, one that is incomplete, text that looks like markup, LaTeX that cannot
be converted, a plot without a drawable point and a dependency that the file does not hold.  Its numbers are made up
but consistent: verdicts follow from the evidence.
"""

from __future__ import annotations

import math
from typing import Any

MARKUP = "<script>alert('x')</script> & <b>bold</b> é ∑ 日本"
BAD_LATEX = r"\left( \unknowncommand{a} <img src=x>"
STEPS = [10.0**-k for k in range(1, 7)]

P1_SUP = r"\left.\frac{d L_{\mathrm{sup}}}{d\alpha}\right|_{\alpha=0} = 0"
P1_SPT = (
    r"\left.\frac{d L_{\mathrm{SPT}}}{d\alpha}\right|_{\alpha=0}"
    r" = - \frac{1}{L^{2}} \sum_{i=1}^{L} \sum_{j=1}^{L} \bar\Delta_{ij} C_{ij}"
)
G1_SPT = (
    r"\frac{d L_{\mathrm{SPT}}}{d\alpha}\Big|_{\alpha=0} = \frac{1}{L} \sum_{i=1}^{L} \sum_{j \in N_i}"
    r" \frac{\bar\Delta_{ij}}{n_i} \left( \frac{1}{n_i} \sum_{k \in N_i} C_{kj} - C_{ij} \right)"
)


def _step(rule: str, latex: str, note: str = "") -> dict[str, Any]:
    return {"rule": rule, "latex": latex, "text": latex, "note": note}


def _derivation() -> dict[str, Any]:
    steps = [
        _step(
            "definition of the loss",
            r"L_{\mathrm{SPT}}(\alpha) = \frac{1}{2L} \sum_{i=1}^{L} \mathbb{E} \left\| X_i - o_i(\alpha) \right\|^{2}",
        ),
        _step(
            "differentiate under the expectation",
            r"L_{\mathrm{SPT}}'(0) = - \frac{1}{L} \sum_{i=1}^{L}"
            r" \mathbb{E}\left[ \left( X_i - o_i(0) \right) \cdot o_i'(0) \right]",
            "allowed because the second moments are finite",
        ),
        _step(
            "softmax jet", r"a_{ij}'(0) = \frac{1}{n_i} \bar\Delta_{ij}, \qquad \sum_{j \in N_i} \bar\Delta_{ij} = 0"
        ),
        _step(
            "substitute and exchange finite sums",
            r"= \frac{1}{L} \sum_{i=1}^{L} \sum_{j=1}^{L} \frac{\bar\Delta_{ij}}{L}"
            r" \left( \frac{1}{L} \sum_{k=1}^{L} C_{kj} - C_{ij} \right)",
        ),
        _step(
            "column sums vanish", r"= - \frac{1}{L^{2}} \sum_{i=1}^{L} \sum_{j=1}^{L} \bar\Delta_{ij} C_{ij}", MARKUP
        ),
        _step("a rule whose LaTeX cannot be typeset", BAD_LATEX),
    ]
    return {"steps": steps, "rules": sorted({s["rule"] for s in steps}), "seconds": 0.213}


def slope_test(name: str, order: float, outcome: str, scale: float = 0.4) -> dict[str, Any]:
    """One Taylor-remainder test whose remainder has the given order, above a rounding floor."""
    remainders = [max(scale * h**order, 3e-16) for h in STEPS]
    changes = [0.25 * h for h in STEPS]
    return {
        "name": name, "claimed": -0.25, "estimated": -0.25000003, "error": 3.1e-08, "observed_order": order,
        "expected_order": 2, "outcome": outcome, "reason": "" if outcome == "pass" else "remainder is of order 1",
        "steps": STEPS, "remainders": remainders, "changes": changes, "floor": 2.2e-16,
    }  # fmt: skip


def _evidence(grade: str, status: str, seconds: float, summary: str, **numbers: Any) -> dict[str, Any]:
    return {"grade": grade, "status": status, "seconds": seconds, "summary": summary, "numbers": numbers}


def _good(**changed: dict[str, Any]) -> list[dict[str, Any]]:
    sweep = [abs(0.3 * h**2) + 1e-16 / h for h in STEPS]
    rows = {
        "derived": _evidence("derived", "passed", 0.41, "6 steps by 6 rules", steps=6, rules=["jet", "exchange"]),
        "replayed": _evidence(
            "replayed", "passed", 1.32, "40 trials, error bound 2^-183", trials=40, bound="2^-183",
            worst={"L": 7, "d": 3, "residue": "0"},
        ),
        "enclosed": _evidence("enclosed", "passed", 2.05, "radius 1.3e-29 at 128 bits", radius=1.3e-29, bits=128),
        "differentiated": _evidence(
            "differentiated", "passed", 12.4, "worst deviation 2.2e-16, tolerance 4.1e-13",
            checks=[
                {"input": "photograph", "mode": "reverse", "deviation": 2.2e-16, "tolerance": 4.1e-13, "within": True},
                {"input": "photograph", "mode": "forward", "deviation": 1.7e-16, "tolerance": 4.1e-13, "within": True},
            ],
            step_sweeps=[{"name": "central differences, L = 16", "steps": STEPS, "errors": sweep}],
        ),
        "sloped": _evidence(
            "sloped", "passed", 3.3, "orders 2.00 and 3.00", slope_tests=[
                slope_test("L_sup on the photograph", 3.0, "pass"), slope_test("L_SPT on the photograph", 2.0, "pass"),
            ],
        ),
        "sampled": _evidence("sampled", "passed", 4.8, "200 examples, 83 % not vacuous", examples=200, share=0.83),
        "refuted": _evidence("refuted", "passed", 1.1, "2 false variants rejected by every route"),
        "mechanised": _evidence("mechanised", "not_run", 0.0, "not run here: coqc is not installed"),
    }  # fmt: skip
    rows.update(changed)
    return list(rows.values())


def _refuted(variant: str, route: str, status: str = "passed", **changed: Any) -> dict[str, Any]:
    found = {
        "L": 2, "d": 1, "pattern": [["1", "-1"], ["-1", "1"]], "tokens": [[["1"], ["0"]]],
        "mask": "full", "pooling": "mean", "true": "-1/4", "claimed": "1/4", **changed,
    }  # fmt: skip
    return {
        "variant": variant,
        "sentence": f"The slope has the other sign ({variant}).",
        "latex": r"L_{\mathrm{SPT}}'(0) = \frac{1}{L^{2}} \langle \bar\Delta, C \rangle_F",
        "route": route,
        "status": status,
        "counterexample": found if status == "passed" else None,
        "detail": "residue equals claimed − true" if status == "passed" else "no counterexample up to L = 4",
    }


def _claim(key: str, verdict: str, evidence: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    ramp = [[str(i - j) for j in range(11)] for i in range(11)]
    claim = {
        "id": key,
        "title": "Labels do not see the blind set; reconstruction does",
        "sentence": "With zero column sums the supervised slope is zero and the self-pretraining slope is not.",
        "source": "section 5, Proposition 1",
        "setting": {"mask": "full", "pooling": "mean", "pattern": "zero column sums"},
        "parts": [
            {"label": "supervised", "latex": P1_SUP, "text": "L_sup'(0) = 0", "derivation": _derivation()},
            {"label": "self-pretraining", "latex": P1_SPT, "text": "L_SPT'(0) = …", "derivation": _derivation()},
        ],
        "hypotheses": [
            {"latex": r"\sum_{i=1}^{L} \Delta_{ij} = 0", "sentence": "every column of the pattern sums to zero"}
        ],
        "assumptions": ["Δ does not depend on X", "second moments are finite"],
        "not_needed": ["the paper's centring of tokens"],
        "not_shown": ["that trained networks reach such a pattern"],
        "depends_on": ["softmax-jet", "swap"],
        "verdict": verdict,
        "seconds": sum(e["seconds"] for e in evidence),
        "exempt": {},
        "evidence": evidence,
        "refuted": [
            _refuted("flipped-sign", "derived"),
            _refuted("flipped-sign", "replayed"),
            _refuted("flipped-sign", "differentiated", true=-0.25, claimed=0.25),
            _refuted("one-over-L", "derived", claimed="-1/2", pattern=ramp),
        ],
    }  # fmt: skip
    return {**claim, **changed}


def sample_results() -> dict[str, Any]:
    """A fresh copy, to change at will."""
    wrong = _evidence(
        "differentiated",
        "failed",
        0.9,
        "worst deviation 0.5 > tolerance 4.1e-13 " + MARKUP,
        deviation=0.5,
        nan=math.nan,
    )
    slopes = [
        slope_test("wrong slope", 1.0, "fail"),
        {**slope_test("all zero", 2.0, "inconclusive"), "remainders": [0.0] * 6, "changes": [0.0] * 6},
    ]
    claims = [
        _claim("P1", "verified", _good()),
        _claim(
            "P1-diag",
            "failed",
            _good(
                differentiated=wrong,
                sloped=_evidence("sloped", "failed", 1.0, "observed order 1.0, expected 2", slope_tests=slopes),
                refuted=_evidence("refuted", "failed", 1.0, "1 false variant was not rejected"),
            ),
            refuted=[_refuted("flipped-sign", "derived"), _refuted("L-for-L-1", "sloped", "failed")],
            sentence=MARKUP,
            depends_on=["softmax-jet", "swap", "row-centring"],
        ),
        _claim(
            "G1",
            "incomplete",
            _good(
                enclosed=_evidence("enclosed", "inconclusive", 0.2, "radius too wide: 0.4"),
                sampled=_evidence("sampled", "not_run", 0.0, "no budget left"),
                trained=_evidence("trained", "exempt", 0.0, ""),
            ),
            exempt={"trained": "an identity, nothing to train"},
            parts=[{"label": "", "latex": G1_SPT, "text": "L_SPT'(0) = …", "derivation": _derivation()}],
            depends_on=["softmax-jet", "row-centring", "tower", "a lemma that is not here"],
        ),
        _claim("G2", "verified", _good(), depends_on=["G1", "witness"], refuted=[]),
    ]
    lemmas = [
        _lemma("row-centring", []),
        _lemma("softmax-jet", ["row-centring"]),
        _lemma("swap", []),
        _lemma("tower", ["swap", "row-centring"]),
        _lemma("witness", ["softmax-jet"]),
    ]
    identities = [
        r"\sum_{i} \bar\Delta_{ij} - \sum_{i} \bar\Delta_{ij}",
        r"\sum_i (a_i + b_i) - \sum_i a_i - \sum_i b_i",
    ]
    return {
        "schema_version": 1,
        "partial": False,
        "claims": claims,
        "lemmas": lemmas,
        "identities": {"count": 2, "zero": 2, "rows": [{"latex": i, "zero": True} for i in identities]},
        "inputs": [{"name": "photograph", "sequences": 24, "length": 1024, "width": 1, "sha256": "ab12" * 16}],
        "environment": {
            "python": "3.11.7",
            "platform": "Linux-6.1-x86_64",
            "cores": 2,
            "revision": "0123abc",
            "packages": {"sympy": "1.14.0", "torch": "2.13.0"},
            "seed": 0,
            "started": "2026-01-02T03:04:05+00:00",
            "seconds": 61.4,
            "command": "python -m numerics verify",
        },
    }


def _lemma(key: str, depends_on: list[str]) -> dict[str, Any]:
    return {
        "id": key,
        "title": f"Lemma {key}",
        "latex": r"a_{ij}'(0) = \frac{1}{n_i} \bar\Delta_{ij}",
        "text": "a'(0) = Δ̄/n",
        "depends_on": depends_on,
        "derivation": _derivation(),
        "status": "passed",
    }

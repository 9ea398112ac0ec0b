"""Claims, lemmas, identities and the machine as plain JSON values, for ``results.json``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from numerics.routes.replay import replay, residue_instance
from numerics.verify.records import Evidence, verdict
from theory.claim import Claim, Part, Quantity, Setting
from theory.derivation import Derivation, Lemma
from theory.identities import check as identity_residue
from theory.identities import identities
from theory.printing import latex, text

PACKAGES = ("sympy", "numpy", "scipy", "torch", "python-flint", "hypothesis", "matplotlib")


def describe_claim(claim: Claim, evidence: Sequence[Evidence]) -> dict[str, Any]:
    """Everything that a reader of the report needs about a claim."""
    rows: list[Mapping[str, Any]] = []
    records = []
    for item in evidence:
        numbers = dict(item.numbers)
        rows += numbers.pop("rows", [])
        records.append(
            {
                "grade": str(item.grade),
                "status": str(item.status),
                "seconds": item.seconds,
                "summary": item.summary,
                "numbers": numbers,
            }
        )
    return {
        "id": claim.id,
        "title": claim.title,
        "sentence": claim.sentence,
        "source": claim.source,
        "setting": _setting(claim),
        "parts": [_part(part) for part in claim.parts],
        "hypotheses": [{"latex": h.latex, "sentence": h.sentence} for h in claim.hypotheses],
        "assumptions": list(claim.assumptions),
        "not_needed": list(claim.not_needed),
        "not_shown": list(claim.not_shown),
        "depends_on": list(claim.depends_on),
        "exempt": dict(claim.exempt),
        "verdict": str(verdict(evidence)),
        "seconds": sum(item.seconds for item in evidence),
        "evidence": records,
        "refuted": rows,
    }


def _setting(claim: Claim) -> dict[str, str]:
    masks = dict.fromkeys(str(part.setting.mask) for part in claim.parts)
    poolings = dict.fromkeys(str(part.setting.pooling) for part in claim.parts)
    return {"mask": ", ".join(masks), "pooling": ", ".join(poolings)}


def _part(part: Part) -> dict[str, Any]:
    try:
        derivation = _derivation(part.derivation())
    except ValueError as error:
        derivation = {"steps": [], "rules": [], "seconds": 0.0, "error": str(error)}
    return {"label": part.label, "latex": part.latex, "text": part.text, "derivation": derivation}


def _derivation(chain: Derivation) -> dict[str, Any]:
    steps = [
        {"rule": step.rule, "latex": latex(step.expression), "text": text(step.expression), "note": step.note}
        for step in chain.steps
    ]
    rules = sorted({rule for step in chain.steps for rule in step.rules})
    return {"steps": steps, "rules": rules, "seconds": chain.seconds}


def describe_lemma(lemma: Lemma) -> dict[str, Any]:
    """A lemma with its derivation, replayed at three random points for any mask."""
    part = Part(
        lemma.id,
        Quantity.ALGEBRAIC,
        lemma.right,
        lambda _: lemma.derivation,
        lemma.setting or Setting(),
        lemma.hypotheses,
        free=lemma.left.indices,
        left=lemma.derivation.steps[0].expression,
    )
    rng = np.random.default_rng(0)
    try:
        holds = all(replay(lemma.derivation, part, residue_instance(part, n, 2, 2, rng)) is None for n in (2, 3, 5))
    except (ValueError, ZeroDivisionError):  # a line that cannot be evaluated has not been replayed
        holds = False
    return {
        "id": lemma.id,
        "title": lemma.title,
        "latex": f"{latex(lemma.left)} = {latex(lemma.right)}",
        "text": f"{text(lemma.left)} = {text(lemma.right)}",
        "depends_on": list(lemma.depends_on),
        "derivation": _derivation(lemma.derivation),
        "status": "passed" if holds else "failed",
    }


def describe_identities() -> dict[str, Any]:
    """The catalogue of true identities, and how many of them reduce to 0."""
    rows = [{"latex": f"{latex(i.left)} = {latex(i.right)}", "zero": identity_residue(i).is_zero} for i in identities()]
    return {"count": len(rows), "zero": sum(bool(row["zero"]) for row in rows), "rows": rows}


def describe_environment(seed: int, started: str, seconds: float) -> dict[str, Any]:
    """Versions, machine, revision, seed and times."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "revision": _revision(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "seed": seed,
        "started": started,
        "seconds": seconds,
        "command": " ".join(["python -m numerics", *sys.argv[1:]]),
    }


def _revision() -> str:
    """The commit of this checkout, marked when files differ from it; ``unknown`` outside a checkout."""
    root = Path(__file__).resolve().parents[2]
    try:
        run = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return run.stdout.strip() or "unknown"

"""Run every grade of every claim, in parallel processes, and collect ``results.json``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import torch
from joblib import Parallel, delayed

from numerics.verify.describe import (
    describe_claim,
    describe_environment,
    describe_identities,
    describe_lemma,
)
from numerics.verify.grades import run_grade
from numerics.verify.mechanised import mechanised
from numerics.verify.modules import claim_named
from numerics.verify.plan import Plan
from numerics.verify.records import REQUIRED_GRADES, SCHEMA_VERSION, Evidence, Grade
from numerics.verify.trained import trained
from theory.catalogue import lemmas
from theory.claim import Claim

#: Longest routes first, so that no process is left with a long one at the end.
_ORDER = (
    Grade.ENCLOSED,
    Grade.SAMPLED,
    Grade.SLOPED,
    Grade.REPLAYED,
    Grade.REFUTED,
    Grade.DIFFERENTIATED,
    Grade.DERIVED,
)


def verify_claim(claim: Claim, plan: Plan) -> dict[str, Any]:
    """All grades of one claim, in this process; for claims that are not in the catalogue, and for tests."""
    evidence = [run_grade(claim, grade, plan) for grade in REQUIRED_GRADES]
    return describe_claim(claim, (*evidence, mechanised(claim.id), trained(claim.id)))


def _task(identifier: str, grade: Grade, plan: Plan) -> tuple[str, Evidence]:
    torch.set_num_threads(1)
    return identifier, run_grade(claim_named(identifier, plan.modules), grade, plan)


def _evidence(claims: Sequence[Claim], plan: Plan, jobs: int) -> Iterator[tuple[str, Evidence]]:
    tasks = [(claim.id, grade) for grade in _ORDER for claim in claims]
    if jobs == 1:
        yield from (_task(identifier, grade, plan) for identifier, grade in tasks)
        return
    work = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    yield from work(delayed(_task)(identifier, grade, plan) for identifier, grade in tasks)


def verify(
    claims: Sequence[Claim],
    plan: Plan,
    *,
    jobs: int,
    partial: bool,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Verify claims of the catalogue or of the plan's modules and return the content of ``results.json``.

    ``progress`` is called with a short text after each of the ``len(claims) * 7`` routes.
    """
    started, began = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    found: dict[str, list[Evidence]] = {claim.id: [] for claim in claims}
    for identifier, evidence in _evidence(claims, plan, jobs):
        found[identifier].append(evidence)
        progress(f"{identifier}: {evidence.grade} {evidence.status}")
    order = list(Grade)
    described = [
        describe_claim(
            claim,
            sorted((*found[claim.id], mechanised(claim.id), trained(claim.id)), key=lambda e: order.index(e.grade)),
        )
        for claim in claims
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "partial": partial,
        "claims": described,
        "lemmas": [describe_lemma(lemma) for lemma in lemmas()],
        "identities": describe_identities(),
        "inputs": [plan.data.record()] if plan.data is not None else [],
        "environment": describe_environment(plan.seed, started, time.perf_counter() - began),
    }

"""The seven required grades, each from its own route to one evidence record.

Whatever goes wrong inside a route is a failure of that grade, with the error in its summary: a check that crashed has
not passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any

from numerics.errors import InputError
from numerics.gradcheck import SlopeCheck, SlopeOutcome, differentiate
from numerics.instances import Instance, random_instance
from numerics.measure import SeriesMeasurement
from numerics.numbers import BALLS
from numerics.real import can_satisfy, exact_instance, float_instance
from numerics.refutation import refute
from numerics.routes.autodiff import Deviation, deviation
from numerics.routes.enclosure import BITS, enclose
from numerics.routes.replay import PRIME, false_pass_bound, replay, residue_instance
from numerics.routes.sampling import VACUOUS_SHARE, sample
from numerics.routes.slope import scalar_function, slope_check_with_control
from numerics.search import find_counterexample
from numerics.tolerance import slope_scale
from numerics.verify.controls import UNREJECTED, derives, idle, off_by_a_little, starts_at_product, unsound_offsets
from numerics.verify.plan import Plan
from numerics.verify.records import Evidence, Grade, Status
from theory.claim import OBJECTIVES, Claim, Part, Quantity
from theory.derivation import DerivationError, Move
from theory.general import asymmetric_objects
from theory.identities import check as identity_residue
from theory.identities import identities
from theory.printing import tidy

#: Quantities that do not involve the tokens, or that are no derivative of a loss: not run on real sequences.
_NOT_ON_REAL = (
    Quantity.ATTENTION_SLOPE,
    Quantity.TOKEN_INFLUENCE,
    Quantity.POOLED_SLOPE,
    Quantity.POOLED_CURVATURE,
    Quantity.ALGEBRAIC,
    *OBJECTIVES,  # two choices a token, a pattern a sequence or a second layer: too much at L = 1024
)


#: Without these three nothing is left that could tell a true statement from a false one.
NEVER_EXEMPT = (Grade.DERIVED, Grade.REPLAYED, Grade.REFUTED)

#: The normal form must accept at least this many true identities before its refusals count.
LEAST_IDENTITIES = 20


def run_grade(claim: Claim, grade: Grade, plan: Plan) -> Evidence:
    """Evidence of one grade for one claim."""
    if grade.value in claim.exempt:
        reason = claim.exempt[grade.value].strip()
        if grade in NEVER_EXEMPT or not reason:
            rule = f"{grade} cannot be exempt" if grade in NEVER_EXEMPT else "an exemption needs a reason"
            return Evidence(grade, Status.FAILED, 0.0, rule)
        return Evidence(grade, Status.EXEMPT, 0.0, reason)
    began = time.perf_counter()
    try:
        status, summary, numbers = _GRADES[grade](claim, plan)
        if status is Status.PASSED and not any(numbers.get(key) for key in ("checks", "slope_tests", "rows")):
            status, summary = Status.FAILED, "nothing was checked"
    except InputError:
        raise
    except Exception as error:  # a crash of a route is evidence against it, never for it
        status, summary, numbers = Status.FAILED, f"{type(error).__name__}: {error}", {}
    return Evidence(grade, status, time.perf_counter() - began, summary, numbers)


_Outcome = tuple[Status, str, dict[str, Any]]


def _derived(claim: Claim, plan: Plan) -> _Outcome:
    rows, rules, count = [], set(), 0
    for part in claim.parts:
        try:
            chain = part.derivation()
        except DerivationError as error:
            return Status.FAILED, f"{part.label}: {_counterexample(claim, part) or error}", {}
        if chain.steps[0].move is not Move.DEFINITION or chain.expression != tidy(part.statement):
            return Status.FAILED, f"{part.label}: the chain does not run from the definition to the statement", {}
        rules |= {rule for step in chain.steps for rule in step.rules}
        rows.append({"part": part.label, "steps": len(chain.steps), "seconds": round(chain.seconds, 4)})
        count += len(chain.steps)
        if derives(off_by_a_little(part)) or (
            part.quantity is not Quantity.GRADIENT_PRODUCT and derives(replace(part, derive=idle))
        ):
            return Status.FAILED, f"{part.label}: {UNREJECTED}, or a chain that starts at its end was accepted", {}
    asymmetric = asymmetric_objects()
    if asymmetric:
        return Status.FAILED, f"flagged symmetric without being so: {', '.join(asymmetric)}", {}
    unsound = unsound_offsets(claim)
    if unsound:
        return Status.FAILED, f"false of a pattern that depends on the offset alone: {', '.join(unsound)}", {}
    summary = f"{len(rows)} equations for symbolic L and d in {count} steps"
    return Status.PASSED, summary, {"checks": rows, "rules used": sorted(rules)}


def _counterexample(claim: Claim, part: Part) -> str:
    """Why a statement without a derivation is false, where the search finds an instance on which it is."""
    try:
        found = find_counterexample(part, least_length=claim.least_length)
    except ValueError:  # no exact left side, or hypotheses that leave nothing to search
        return ""
    if found is None:
        return ""
    at = found.record()
    names = ("L", "d", "pattern", "mask", "pooling", "tokens", "loss", "others")
    where = ", ".join(f"{name}={at[name]}" for name in names if at[name] != {})
    return f"the statement is false: true value {at['true']}, claimed {at['claimed']} at {where}"


def _replayed(claim: Claim, plan: Plan) -> _Outcome:
    rows, worst = [], 0.0
    for part in claim.parts:
        chain = part.derivation()
        control = copy(chain)
        control.steps = [*chain.steps[:-1], replace(chain.steps[-1], expression=chain.expression + 1)]
        instances = list(_residue_instances(claim, part, plan))
        for name, instance in instances:
            failure = replay(chain, part, instance)
            if failure is not None:
                where = f"line {failure.line} ({failure.rule}) at L={failure.token_count}, d={failure.token_width}"
                return Status.FAILED, f"{part.label}: {where}, {name}", {}
        if all(replay(control, part, instance) is None for _, instance in instances[:2]):
            return Status.FAILED, f"{part.label}: the control, a last line that is off by 1, was not rejected", {}
        if part.quantity is Quantity.GRADIENT_PRODUCT and not starts_at_product(part, chain, instances[0][1]):
            return Status.FAILED, f"{part.label}: the first line is not the product of the two gradients", {}
        bound = false_pass_bound(chain, plan.trials)
        worst = max(worst, bound)
        rows.append({"part": part.label, "lines": len(chain.steps), "trials": len(instances), "error bound": bound})
    summary = f"every line holds at {plan.trials} random points modulo {PRIME}; false lines pass with p ≤ {worst:.0e}"
    return Status.PASSED, summary, {"prime": PRIME, "checks": rows}


def _residue_instances(claim: Claim, part: Part, plan: Plan) -> Iterator[tuple[str, Instance]]:
    rng = plan.generator(claim.id, part.label, "replay")
    for trial in range(plan.trials):
        count = claim.least_length + trial % 4
        yield "random residues", residue_instance(part, count, 1 + trial % 3, 1 + trial % 2, rng)
    if _exact_on_real(claim, part, plan):
        yield plan.data.name, exact_instance(part, plan.data)  # type: ignore[union-attr,arg-type]


def _exact_on_real(claim: Claim, part: Part, plan: Plan) -> bool:
    return plan.data is not None and claim.id in plan.exact_on_real and part.quantity not in _NOT_ON_REAL


def _measured_parts(claim: Claim) -> list[Part]:
    return [part for part in claim.parts if part.quantity is not Quantity.ALGEBRAIC]


def _random_instances(claim: Claim, part: Part, plan: Plan, route: str) -> Iterator[tuple[str, Instance]]:
    rng = plan.generator(claim.id, part.label, route)
    for trial in range(plan.instances):
        count = claim.least_length + 2 * trial
        yield "random", random_instance(part, count, 1 + trial % 3, 1 + trial % 3, rng)


def _float_instances(claim: Claim, part: Part, plan: Plan, route: str) -> Iterator[tuple[str, Instance]]:
    yield from _random_instances(claim, part, plan, route)
    if plan.data is not None and part.quantity not in _NOT_ON_REAL and not part.witness and can_satisfy(part):
        instance = float_instance(part, plan.data, plan.real)
        if slope_scale(instance, part.quantity) > 0:  # under CLS pooling a blind pattern moves nothing at all
            yield plan.data.name, instance


def _sizes(part: Part, name: str, instance: Instance) -> dict[str, Any]:
    return {"part": part.label, "tokens": name, "L": instance.token_count, "d": instance.token_width}


def _enclosed(claim: Claim, plan: Plan) -> _Outcome:
    rows, widest = [], 0.0
    shared: tuple[Instance, SeriesMeasurement] | None = None
    for part in _measured_parts(claim):
        work = [(name, instance, None) for name, instance in _random_instances(claim, part, plan, "enclose")]
        if plan.data is not None and _exact_on_real(claim, part, plan):
            # Both halves of the paper's statements speak of one instance: its attention is computed once.
            if shared is None:
                instance = exact_instance(part, plan.data)
                shared = instance, SeriesMeasurement(instance, BALLS, bits=BITS)
            work.append((plan.data.name, *shared))  # type: ignore[arg-type]
        for name, instance, measurement in work:
            ball = enclose(part, instance, BITS, measurement)
            row = {**_sizes(part, name, instance), "radius": ball.radius}
            rows.append(row)
            widest = max(widest, ball.radius)
            if not ball.meets:
                return Status.FAILED, f"{part.label}: the balls are {ball.gap:.3g} apart ({name})", {"checks": rows}
            if not ball.narrow:
                return Status.INCONCLUSIVE, f"{part.label}: radius {ball.radius:.1e} is too wide", {"checks": rows}
        if any(enclose(off_by_a_little(part), instance, BITS, held).meets for _, instance, held in work[:1]):
            return Status.FAILED, f"{part.label}: {UNREJECTED}", {"checks": rows}
    return Status.PASSED, f"balls of radius ≤ {widest:.0e} meet at {BITS} bits", {"bits": BITS, "checks": rows}


def _differentiated(claim: Claim, plan: Plan) -> _Outcome:
    rows: list[dict[str, Any]] = []
    worst = 0.0
    for part in _measured_parts(claim):
        work = list(_float_instances(claim, part, plan, "differentiate"))
        if any(deviation(off_by_a_little(part), instance).within for _, instance in work[:1]):
            return Status.FAILED, f"{part.label}: {UNREJECTED}", {"checks": rows}
        for name, instance in work:
            found = deviation(part, instance)
            rows.append({**_sizes(part, name, instance), **_deviation_row(found)})
            worst = max(worst, max(found.reverse, found.forward) / found.tolerance if found.tolerance else 0.0)
            if not found.within:
                return Status.FAILED, f"{part.label}: {_deviation_text(found)} ({name})", {"checks": rows}
    return Status.PASSED, f"reverse and forward mode agree within {worst:.0e} of the tolerance", {"checks": rows}


def _deviation_row(found: Deviation) -> dict[str, float]:
    return {
        "claimed size": found.size,
        "reverse": found.reverse,
        "forward": found.forward,
        "tolerance": found.tolerance,
    }


def _deviation_text(found: Deviation) -> str:
    return f"deviation {max(found.reverse, found.forward):.3g} above the tolerance {found.tolerance:.2g}"


def _sloped(claim: Claim, plan: Plan) -> _Outcome:
    tests, sweeps, unclear = [], [], ""
    for part in _measured_parts(claim):
        rng = plan.generator(claim.id, part.label, "slope functional")
        for name, instance in _float_instances(claim, part, plan, "slope"):
            check, control = slope_check_with_control(part, instance, rng)
            title = f"{part.label}, L={instance.token_count}, {name}"
            tests.append(_slope_row(title, check))
            if check.outcome is SlopeOutcome.FAIL:
                return Status.FAILED, f"{title}: {check.reason}", {"slope_tests": tests}
            if check.outcome is SlopeOutcome.INCONCLUSIVE:
                unclear = unclear or f"{title}: {check.reason}"
            if control.outcome is not SlopeOutcome.FAIL:
                unclear = unclear or f"{title}: the control with a wrong slope was not rejected ({control.reason})"
        sweeps.append(_sweep(part, instance, plan))
    numbers = {"slope_tests": tests, "step_sweeps": sweeps}
    if unclear:
        return Status.INCONCLUSIVE, unclear, numbers
    orders = [t["observed_order"] for t in tests if t["observed_order"] is not None]
    least = f"{min(orders):.2f}" if orders else "exact"
    summary = f"{len(tests)} remainders fall with order ≥ {least}; as many wrong slopes were rejected"
    return Status.PASSED, summary, numbers


def _slope_row(title: str, check: SlopeCheck) -> dict[str, Any]:
    return {
        "name": title,
        "claimed": check.claimed,
        "estimated": check.estimated,
        "error": check.estimated_error,
        "observed_order": check.observed_order,
        "expected_order": 2,
        "outcome": str(check.outcome),
        "reason": check.reason,
        "steps": list(check.steps),
        "remainders": list(check.remainders),
        "changes": list(check.remainders0),
        "floor": list(check.floor),
    }


def _sweep(part: Part, instance: Instance, plan: Plan) -> dict[str, Any]:
    function, claimed, scale = scalar_function(part, instance, plan.generator(part.label, "sweep"))
    estimate = differentiate(function, scale=scale)
    errors = [abs(d - claimed) for d in estimate.sweep.differences]
    return {"name": part.label, "steps": list(estimate.sweep.steps), "errors": errors}


def _sampled(claim: Claim, plan: Plan) -> _Outcome:
    rows, shares, total = [], [], 0
    for part in _measured_parts(claim):
        result = sample(part, least_length=claim.least_length, examples=plan.examples, number=plan.seed)
        row = {"part": part.label, "examples": result.examples, "non-vacuous": round(result.share, 3)}
        rows.append({**row, "worst deviation / tolerance": result.worst})
        control = sample(
            off_by_a_little(part), least_length=claim.least_length, examples=3, number=plan.seed, shrink=False
        )
        numbers = {"seed": plan.seed, "vacuous below": VACUOUS_SHARE, "checks": rows}
        if result.falsified:
            return Status.FAILED, f"{part.label}: {result.falsified}", numbers
        if not control.falsified:
            return Status.FAILED, f"{part.label}: {UNREJECTED}", numbers
        if not result.passed:
            return Status.FAILED, f"{part.label}: only {result.share:.0%} of the examples are non-vacuous", numbers
        shares.append(result.share)
        total += result.examples
    return Status.PASSED, f"{total} examples agree, at least {min(shares):.0%} of each kind non-vacuous", numbers


def _refuted(claim: Claim, plan: Plan) -> _Outcome:
    rows, problems = [], []
    for variant in claim.false_variants:
        result = refute(variant)
        found = result.counterexample.record() if result.counterexample else None
        if not result.rejections:
            problems.append(f"“{variant.id}” lists no route that could reject it")
        for rejection in result.rejections:
            rows.append(
                {
                    "variant": variant.id,
                    "sentence": variant.sentence,
                    "latex": variant.part.latex,
                    "route": str(rejection.route),
                    "status": "passed" if rejection.rejected else "failed",
                    "counterexample": found,
                    "detail": rejection.detail,
                }
            )
            if not rejection.rejected:
                problems.append(f"“{variant.id}” was not rejected by the route {rejection.route}: {rejection.detail}")
    wrong = [i.name for i in identities() if not identity_residue(i).is_zero]
    problems += [f"the true identity “{name}” does not reduce to 0" for name in wrong]
    numbers = {"rows": rows, "true identities": len(identities()), "reduced to 0": len(identities()) - len(wrong)}
    if len(identities()) < LEAST_IDENTITIES:
        problems.append(f"only {len(identities())} true identities are held against the normal form")
    if problems:
        return Status.FAILED, "; ".join(problems[:3]), numbers
    count = len(claim.false_variants)
    if not count:
        return Status.FAILED, "the claim lists no false variant, so that nothing shows that it could fail", numbers
    return Status.PASSED, f"{count} false variants rejected by {len(rows)} routes at found counterexamples", numbers


_GRADES: dict[Grade, Callable[[Claim, Plan], _Outcome]] = {
    Grade.DERIVED: _derived,
    Grade.REPLAYED: _replayed,
    Grade.ENCLOSED: _enclosed,
    Grade.DIFFERENTIATED: _differentiated,
    Grade.SLOPED: _sloped,
    Grade.SAMPLED: _sampled,
    Grade.REFUTED: _refuted,
}

"""Grade ``sampled``: a hypothesis property over lengths, widths, masks, poolings, laws and losses.

Every example must agree with the statement within rounding.  Agreement of zeros says little, so each example also
reports whether it was non-vacuous: the quantity, or for a claimed zero the same quantity off the hypothesis, must
exceed ``VACUOUS_SHARE`` of its scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from numerics.blind_set import centre_rows
from numerics.instances import Instance, random_instance
from numerics.measure import GRADIENTS, QUERY_KEY, by_reverse_mode
from numerics.routes.autodiff import Deviation, deviation
from numerics.strategies import instances
from numerics.tolerance import term_scale
from theory.claim import Part, Quantity

#: A slope below this share of its scale shows nothing.
VACUOUS_SHARE = 1e-3
#: The grade fails when fewer examples than this share are non-vacuous.
LEAST_INFORMATIVE = 0.5


@dataclass(frozen=True)
class Sample:
    """Examples run, share of non-vacuous ones, worst deviation over tolerance, and the falsifying example."""

    examples: int
    informative: int
    worst: float
    falsified: str

    @property
    def share(self) -> float:
        """Share of examples that could have shown a wrong statement."""
        return self.informative / self.examples if self.examples else 0.0

    @property
    def passed(self) -> bool:
        """No example deviates and most of them are informative."""
        return not self.falsified and self.examples > 0 and self.share >= LEAST_INFORMATIVE


class _Disagreement(AssertionError):
    pass


def sample(part: Part, *, least_length: int, examples: int, number: int, shrink: bool = True) -> Sample:
    """Run the property ``examples`` times from the seed ``number``; a falsifying example is made smaller."""
    seen: list[tuple[bool, float]] = []

    def judge(instance: Instance) -> None:
        found = deviation(part, instance)
        seen.append((_informative(part, instance, found, len(seen)), _ratio(found)))
        if not found.within:
            raise _Disagreement(_describe(instance, found))

    falsified = ""
    try:
        _run(judge, part, least_length, examples, number, shrink)
    except _Disagreement as error:
        falsified = str(error)
    return Sample(len(seen), sum(i for i, _ in seen), max((r for _, r in seen), default=0.0), falsified)


def _run(
    judge: Callable[[Instance], None], part: Part, least_length: int, examples: int, number: int, shrink: bool
) -> None:
    configured = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        report_multiple_bugs=False,
        print_blob=False,
    )

    @seed(number)
    @configured
    @given(instances(part, least_length))
    def agrees(instance: Instance) -> None:
        judge(instance)

    agrees()


def _ratio(found: Deviation) -> float:
    worst = max(found.reverse, found.forward)
    return worst / found.tolerance if found.tolerance else (0.0 if worst == 0 else float("inf"))


def _informative(part: Part, instance: Instance, found: Deviation, draw: int) -> bool:
    moves = centre_rows(np.asarray(instance.pattern, dtype=float), np.asarray(instance.mask, dtype=float)).any()
    if part.quantity not in (*GRADIENTS, *QUERY_KEY, Quantity.GRADIENT_PRODUCT) and not moves:
        return False  # the hypotheses left nothing of the pattern
    if part.statement != 0:
        return found.size > VACUOUS_SHARE * term_scale(instance, part.quantity)
    if part.quantity is Quantity.GRADIENT_PRODUCT:
        norms = [np.linalg.norm(by_reverse_mode(instance, q)) for q in GRADIENTS]
        return bool(norms[0] * norms[1] > VACUOUS_SHARE * term_scale(instance, part.quantity))
    rng = np.random.default_rng(draw)
    if part.witness:
        free = replace(part, witness={}, hypotheses=())
        off = random_instance(free, instance.token_count, instance.token_width, len(instance.tokens), rng)
    else:
        off = replace(instance, pattern=rng.integers(-6, 7, instance.mask.shape) / 6)
    slope = float(np.abs(by_reverse_mode(off, part.quantity)).max())
    return slope > VACUOUS_SHARE * term_scale(off, part.quantity)


def _describe(instance: Instance, found: Deviation) -> str:
    return (
        f"L={instance.token_count}, d={instance.token_width}, pattern={instance.pattern.tolist()}, "
        f"deviation {max(found.reverse, found.forward):.3g} above tolerance {found.tolerance:.3g}"
    )

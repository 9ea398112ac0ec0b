"""What would change a verdict: another pooling, more probes, a per-token loss, self-pretraining, an initialisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numerics.audit.verdict import SEEN, Findings, Outcome, outcome, reconstruction_outcome, sequences_needed

#: Patterns whose named form is blind at any strength (theory.md G5).
_PERIODIC = "periodic"


def would_change(
    findings: Findings, poolings: Sequence[dict[str, Any]], ratios: Sequence[dict[str, Any]], pattern: str
) -> tuple[str, ...]:
    """One line a remedy, the most relevant first.

    Args:
        findings: what the rule looked at.
        poolings: the chosen pooling first, then others: name, share seen, visible dimension, number of directions.
        ratios: order slopes at several masking ratios.
        pattern: its name.
    """
    found, writes = outcome(findings), reconstruction_outcome(findings)
    if found is Outcome.NO_PATTERN:
        return ("another pattern: one that differs between the keys of a query",)
    if found is Outcome.RANK_COLLAPSED:
        return (
            "tokens that differ: check the embedding, add positions or a residual connection; "
            "identical tokens make every first-order slope in the scores 0",
        )
    lines = []
    if found is Outcome.UNDECIDED:
        needed = sequences_needed(findings)
        lines.append(
            "more sequences: at least two for an interval"
            if needed is None
            else f"more sequences: about {needed} would decide, if the slope and its spread stay what they are"
        )
    if found is not Outcome.LABELS_SEE_IT:
        lines += _for_labels(poolings)
        if writes is Outcome.WOULD_HELP:
            lines.append(f"self-pretraining: {_best_ratio(ratios)}")
            if findings.masked.sign > 0:
                lines.append(
                    "a self score of its own, or --mask diagonal: as it stands, the pattern's score of a query for "
                    "itself outweighs the rest, and the whole masked slope is positive"
                )
            lines.append("a per-token loss beside the labels: it sees every direction of the scores")
        if writes is Outcome.PUSHES_AWAY:
            lines.append("no self-pretraining, or another pattern: reconstruction lowers these scores")
        if writes is Outcome.NOTHING_TO_LEARN:
            lines.append("a per-token label, if there is one: reconstruction finds no order in these tokens")
        note = "" if pattern == _PERIODIC else "; a periodic one stays invisible to mean-pooled labels at any strength"
        lines.append(f"an initialisation: write the pattern into the scores (position bias or queries and keys){note}")
    elif writes is Outcome.PUSHES_AWAY:
        lines.append("with self-pretraining first, labels would have to undo its push away from this pattern")
    else:
        lines.append("a pooling that averages more rows hides more of it: see the table of poolings")
    return tuple(lines)


def _for_labels(poolings: Sequence[dict[str, Any]]) -> list[str]:
    chosen, *others = poolings
    share = chosen["seen_share_of_rows_read"]
    better = [p for p in others if p["seen_share_of_rows_read"] >= max(SEEN, share) > share]
    lines = [
        f"another pooling: {p['pooling']} sees {p['seen_share_of_rows_read']:.0%} of the pattern in the rows it reads "
        f"({p['visible_dimension']} of {p['directions']} directions)"
        for p in better[:1]
    ]
    seen, directions = chosen["visible_dimension"], chosen["directions"]
    lines.append(
        f"more probes: one {chosen['pooling']} probe sees {seen} of {directions} directions, r probes at most r times "
        "as many, a flattening head all"
    )
    return lines


def _best_ratio(ratios: Sequence[dict[str, Any]]) -> str:
    noise = {r["mask_ratio"]: r["order_slope_signal_to_noise"]["value"] for r in ratios}
    slopes = {r["mask_ratio"]: r["order_slope"]["value"] for r in ratios}
    told = ", ".join(
        f"{slopes[ratio]:.2g} at {ratio:g}"
        + ("" if value is None else f" (signal to noise {abs(value):.2g} a sequence)")
        for ratio, value in noise.items()
    )
    return f"order slope {told}"

"""The verdicts file that the verifier's grade ``trained`` reads, and the search that decides nothing.

``verdicts.json`` lies beside the kept records; each verdict names the files that it rests on with their SHA-256, so a
record that changes makes it stale.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.errors import MissingRecord
from training.files import write_whole
from training.predictions.prediction import Judgement, Records, located
from training.predictions.statistics import mean_interval
from training.records import finite

SCHEMA_VERSION = 1
FILE = "verdicts.json"


def commands(judgement: Judgement, scale: str) -> list[str]:
    """What to type so that the records of a prediction are there."""
    places = dict.fromkeys(located(source, scale)[:2] for source in judgement.prediction.sources)
    return [
        f"python -m training run {name} --scale {own} && python -m training keep {name}-{own}" for name, own in places
    ]


def as_row(judgement: Judgement, records: Records) -> dict[str, Any]:
    """One verdict as JSON values."""
    prediction = judgement.prediction
    paths = []
    if judgement.verdict != "not run":
        paths = ["{}-{}/{}".format(*located(source, records.scale)) for source in prediction.sources]
    return {
        "id": prediction.id,
        "table": prediction.table,
        "claims": list(prediction.claims),
        "sentence": prediction.sentence,
        "measurement": prediction.measurement,
        "direction_or_margin": prediction.bound,
        "verdict": judgement.verdict,
        "suggestive": judgement.suggestive,
        "effect": judgement.effect,
        "low": judgement.low,
        "high": judgement.high,
        "p_value": judgement.p_value,
        "p_holm": judgement.p_holm,
        "seeds": judgement.seeds,
        "minimum_detectable_effect": judgement.minimum_detectable_effect,
        "values": {str(seed): value for seed, value in judgement.values.items()},
        "controls": dict(judgement.controls),
        "reason": judgement.reason,
        "command": " && ".join(commands(judgement, records.scale)),
        "records": [
            {"path": path, "sha256": hashlib.sha256((records.folder / path).read_bytes()).hexdigest()} for path in paths
        ],
    }


def as_json(judgements: Sequence[Judgement], records: Records) -> str:
    """The whole file."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "scale": records.scale,
        "verdicts": [as_row(judgement, records) for judgement in judgements],
    }
    return json.dumps(finite(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_verdicts(judgements: Sequence[Judgement], records: Records) -> Path:
    """Write ``verdicts.json`` beside the records, whole or not at all."""
    path = records.folder / FILE
    write_whole(path, as_json(judgements, records))
    return path


def as_markdown(judgements: Sequence[Judgement]) -> str:
    """How many verdicts of each kind, and all of them as a table that unfolds, for the README."""
    lines = ["| prediction | asked | effect [95 %] | seeds | verdict |", "| --- | --- | --- | --- | --- |"]
    judged = [one for one in judgements if one.verdict != "not run"]
    for one in judged:
        word = f"{one.verdict} (suggestive)" if one.suggestive else one.verdict
        interval = f"{one.effect:.2f} [{one.low:.2f}, {one.high:.2f}]".replace("-", "−")
        asked = one.prediction.bound.removeprefix("mean over seeds ").replace("-", "−")
        lines.append(f"| {one.prediction.sentence} | {asked} | {interval} | {one.seeds} | {word} |")
    missing = [one.prediction.id for one in judgements if one.verdict == "not run"]
    counts = Counter(one.verdict for one in judgements)
    said = f"{len(judgements)} predictions: " + ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
    said += f" ({', '.join(missing)})." if missing else "."
    return "\n".join([said, "", "<details><summary>All verdicts</summary>", "", *lines, "", "</details>"]) + "\n"


def search_table(records: Records) -> list[tuple[str, str, float, float, float, int]]:
    """Variant, claim, mean, interval and seeds of the search; empty where it was not run.  It decides nothing."""
    try:
        table = records.table("toy-conditions/claims.csv")
    except MissingRecord:
        return []
    rows = []
    for (variant, claim), group in table.group_by("variant", "claim", maintain_order=True):
        values = group["value"].to_list()
        rows.append((str(variant), str(claim), *mean_interval(values), len(values)))
    return rows

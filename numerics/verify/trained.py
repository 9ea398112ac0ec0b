"""Grade ``trained``: what training runs said, as kept by ``python -m training verdicts --write``.

A verdict counts only while the records that it rests on are unchanged (SHA-256).  It never changes a claim's verdict:
a theorem about the first step is not refuted by a network that does something else later.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import theory
from numerics.verify.records import Evidence, Grade, Status

#: Beside the kept records; ``records`` of a verdict are paths relative to this folder.
RECORDS = Path(theory.__file__).parents[1] / "paper_figures" / "records"
_STATUS = {"confirmed": Status.PASSED, "contradicted": Status.FAILED}


def trained(claim: str, folder: Path = RECORDS) -> Evidence:
    """Evidence of the training runs about one claim.

    ``passed`` when every prediction that rests on the claim was confirmed, ``failed`` when one was contradicted, else
    ``inconclusive``.

    >>> trained("P1", Path("no/such/folder")).status
    <Status.NOT_RUN: 'not_run'>
    """
    try:
        content = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
        held = [row for row in content["verdicts"] if claim in row["claims"] and row["verdict"] != "not run"]
        stale = [row["id"] for row in held if not _fresh(row, folder)]
        rows = [_row(row) for row in held]
    except FileNotFoundError:
        return _not_run("not run here: python -m training verdicts --write keeps the verdicts")
    except (ValueError, KeyError, TypeError, OSError) as error:
        return _not_run(f"{folder / 'verdicts.json'} cannot be read ({type(error).__name__}): write it again")
    if not held:
        return _not_run("no training prediction rests on this claim")
    if stale:
        return _not_run(f"records changed since {', '.join(stale)} was judged: python -m training verdicts --write")
    found = [_STATUS.get(row["verdict"], Status.INCONCLUSIVE) for row in held]
    worst = next((s for s in (Status.FAILED, Status.INCONCLUSIVE) if s in found), Status.PASSED)
    counts = {
        word: sum(row["verdict"] == word for row in held) for word in ("confirmed", "contradicted", "inconclusive")
    }
    summary = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    names = "; ".join(row["id"] for row in held)
    return Evidence(Grade.TRAINED, worst, 0.0, f"{summary} ({names})", {"predictions": rows})


def _not_run(summary: str) -> Evidence:
    return Evidence(Grade.TRAINED, Status.NOT_RUN, 0.0, summary)


def _fresh(row: dict[str, Any], folder: Path) -> bool:
    paths = {record["path"]: record["sha256"] for record in row["records"]}
    return bool(paths) and all(
        (folder / path).is_file() and hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest
        for path, digest in paths.items()
    )


def _row(row: dict[str, Any]) -> dict[str, Any]:
    kept = ("id", "sentence", "verdict", "effect", "low", "high", "p_value", "seeds", "minimum_detectable_effect")
    return {name: row.get(name) for name in kept} | {"records": [record["path"] for record in row["records"]]}

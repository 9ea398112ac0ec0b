"""What a checkpoint belongs to, written into its header: the task, its vocabulary, the positional scheme.

A network reads ids and places, so parameters are worth nothing under another numbering or another scheme.  Loading
checks all three; inheriting named groups from another task (Table 8's swap) is allowed where the numbering, if there
is one, is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from training.data.sequences import TaskData
from training.errors import CheckpointError
from training.model.groups import select
from training.stages import RunConfig

#: Keys of a header, and the words for them.
PARTS = {"task": "task", "vocabulary": "vocabulary", "positions": "positional scheme"}


def identity(config: RunConfig, data: TaskData) -> dict[str, str]:
    """Task, vocabulary (SHA-256 of its symbols in order; ``none`` for continuous tokens), positional scheme."""
    symbols = data.provenance.get("vocabulary")
    digest = hashlib.sha256(json.dumps(list(symbols)).encode()).hexdigest()[:16] if symbols else "none"
    return {"task": str(config.task.name), "vocabulary": digest, "positions": config.model.positions}


def check_identity(
    header: Mapping[str, str], wanted: Mapping[str, str], path: Path, parts: tuple[str, ...] = tuple(PARTS)
) -> None:
    """Refuse a checkpoint of another task, vocabulary or positional scheme."""
    for part in parts:
        if header.get(part) != wanted[part]:
            raise CheckpointError(
                f"a checkpoint must be of the same {PARTS[part]}: {path} has {header.get(part, 'none named')!r}, "
                f"wanted {wanted[part]!r}; use a run on the same task, or run its configuration again"
            )


def check_inherited(header: Mapping[str, str], config: RunConfig, data: TaskData, path: Path) -> None:
    """Refuse parents whose parameters would mean something else in this run.

    Everything (``all``, ``all-but-...``) is inherited on one task alone; named groups also from another, as long as
    positions are the same and, where the embedding of ids or their read-out is among them, the vocabulary.
    """
    parts = ["positions"]
    if config.inherit.startswith("all"):
        parts.append("task")
    if config.model.vocabulary and select(("embedding.x", "reconstruction.x"), config.inherit):
        parts.append("vocabulary")
    check_identity(header, identity(config, data), path, tuple(parts))

"""Where a run ran: code revision, versions, hardware, threads."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

_LIBRARIES = ("torch", "numpy", "safetensors", "polars")


def environment() -> dict[str, Any]:
    """Everything about the machine and the code that a reader of a record may ask for."""
    return dict(_fixed()) | {"threads": torch.get_num_threads()}


@lru_cache(maxsize=1)
def _fixed() -> tuple[tuple[str, Any], ...]:
    revision, dirty = _revision()
    return tuple(
        {
            "revision": revision,
            "uncommitted_changes": dirty,
            "python": platform.python_version(),
            "versions": {name: version(name) for name in _LIBRARIES},
            "platform": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        }.items()
    )


def _revision() -> tuple[str | None, bool | None]:
    """Commit and whether the rooms that compute differ from it; None outside a git checkout."""
    folder = Path(__file__).resolve().parent
    try:
        head = _git(folder, "rev-parse", "HEAD")
        return head, bool(_git(folder, "status", "--porcelain", "--", ".", "../numerics"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=20)
    return ran.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())

"""Lemmas are derived once a process; tests that watch or falsify a derivation must start without derived ones."""

import sys
from typing import Any

from theory.derivation import Lemma


def forget() -> None:
    """Forget every derived lemma of ``theory``: memoised functions, and lemmas that an object has kept."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "theory":
            for held in list(vars(module).values()):
                _forget(held)


def _forget(held: Any) -> None:
    if hasattr(held, "cache_clear"):
        held.cache_clear()
    elif hasattr(held, "__dict__") and not isinstance(held, type):
        for name in [n for n, value in vars(held).items() if isinstance(value, Lemma)]:
            del vars(held)[name]

"""How much a verification run does, and on what."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from numerics.inputs import TokenData
from numerics.real import RealOptions


@dataclass(frozen=True)
class Plan:
    """Sizes of the routes; the defaults keep a full run well under 90 seconds on two cores.

    ``trials`` replays a part at that many random points; ``instances`` is the number of random instances of the
    enclosed, differentiated and sloped routes; ``examples`` the number of hypothesis examples a part.  ``data`` are
    real sequences (``None`` leaves them out); ``exact_on_real`` names the claims that are also replayed and enclosed on
    one real sequence; ``modules`` are files with claims of the user's.
    """

    seed: int = 0
    trials: int = 8
    instances: int = 4
    examples: int = 50
    data: TokenData | None = None
    real: RealOptions = field(default_factory=RealOptions)
    exact_on_real: tuple[str, ...] = ("P1", "P1-diag")
    modules: tuple[Path, ...] = ()

    def generator(self, *labels: str) -> np.random.Generator:
        """A random generator that depends on the seed and on what it is for, not on the order of the work."""
        digest = [int(b) for b in "/".join(labels).encode()]
        return np.random.default_rng([self.seed, *digest])

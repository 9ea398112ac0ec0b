"""What all of the suite shares: a seeded share of the planted errors, and no work that does not find them.

Falsified examples are not shrunk here, nor is a refused derivation explained: what counts is that they are found.
"""

import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from numerics.routes import sampling
from numerics.verify import grades
from tests.sabotage.mistakes import EVERYTHING

#: Percentage of the planted errors that a run tries, always the same ones; ``SABOTAGE_ALL=1`` tries all.
SHARE = 30


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out planted errors beyond the share; what is not parametrized always runs."""
    if EVERYTHING or any("::" in argument for argument in config.args):
        return
    here = Path(__file__).parent
    left_out = [
        i for i in items if here in i.path.parents and "[" in i.name and zlib.crc32(i.name.encode()) % 100 >= SHARE
    ]
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(**given: Any) -> settings:
        return settings(**{**given, "phases": (Phase.generate,)})

    monkeypatch.setattr(sampling, "settings", quick)
    monkeypatch.setattr(grades, "_counterexample", lambda *_: "")

"""Falsified examples are not shrunk here: what counts is that they are found."""

from typing import Any

import pytest
from hypothesis import Phase, settings

from numerics.routes import sampling


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(**given: Any) -> settings:
        return settings(**{**given, "phases": (Phase.generate,)})

    monkeypatch.setattr(sampling, "settings", quick)

"""Falsified examples are not shrunk here, nor is a refused derivation explained: what counts is that they are found."""

from typing import Any

import pytest
from hypothesis import Phase, settings

from numerics.routes import sampling
from numerics.verify import grades


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(**given: Any) -> settings:
        return settings(**{**given, "phases": (Phase.generate,)})

    monkeypatch.setattr(sampling, "settings", quick)
    monkeypatch.setattr(grades, "_counterexample", lambda *_: "")

"""What every test stands on: fixed hypothesis profiles, one thread, the data folder.

Shapes in signatures of ``numerics``, ``training`` and ``paper_figures`` are checked in every test and doc example: the
option ``--jaxtyping-packages`` in ``pyproject.toml`` installs the hook before this file, and any room, is imported.
"""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")
torch.set_num_threads(1)

# "ci" repeats the same examples on every machine. How long an example takes depends on the machine, not on the claim,
# so neither a deadline nor the health check for slowness judges it.
_steady = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", _steady, derandomize=True)
settings.register_profile("explore", _steady, derandomize=False)
settings.register_profile("deep", _steady, derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def spt_data() -> Path:
    """The folder of real data sets: SPT_DATA, else ``../shared/data`` beside the checkout; skips without either."""
    named = os.environ.get("SPT_DATA")
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            pytest.fail(f"SPT_DATA must name an existing folder: SPT_DATA={named}; correct it or unset it")
        return folder
    beside = _CHECKOUT.parent / "shared" / "data"
    if beside.is_dir():
        return beside
    pytest.skip("SPT_DATA is not set and there is no ../shared/data beside the checkout: real data not tested")

"""Proposition 1 and its variant on real sequences: CIFAR-10 images and UCR series, where the data folder is at hand."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.gradcheck import SlopeOutcome
from numerics.inputs import TokenData, load_tokens
from numerics.real import RealOptions, exact_instance, float_instance
from numerics.routes.autodiff import deviation
from numerics.routes.enclosure import enclose
from numerics.routes.replay import replay
from numerics.routes.slope import slope_check_with_control
from theory.catalogue import find_claim

UCR = ["GunPoint", "ECG200", "ECGFiveDays", "GunPointAgeSpan"]
PARTS = [(name, part) for name in ("P1", "P1-diag") for part in find_claim(name).parts]
IDS = [f"{name}: {part.label}" for name, part in PARTS]


@pytest.fixture(scope="module")
def cifar(spt_data, tmp_path_factory) -> TokenData:
    with np.load(spt_data / "cifar10" / "cifar10_gray_jpeg.npz", allow_pickle=False) as archive:
        images, labels = archive["x_train"][:40], archive["y_train"][:40]
    path = tmp_path_factory.mktemp("cifar") / "tokens.npz"
    np.savez(path, tokens=(images.reshape(40, 1024, 1) - 122.6) / 61.0, labels=labels.astype(np.int64))
    return load_tokens(path)


def _ucr(folder, name) -> TokenData:
    table = np.loadtxt(folder / "ucr" / "UCRArchive_2018" / name / f"{name}_TRAIN.tsv")
    tokens = table[:, 1:, None]
    tokens = (tokens - tokens.mean()) / tokens.std()
    return TokenData(name, tokens, np.unique(table[:, 0], return_inverse=True)[1].astype(np.int64))


def _holds(part, data):
    instance = float_instance(part, data, RealOptions())
    found = deviation(part, instance)
    assert found.within
    check, control = slope_check_with_control(part, instance, np.random.default_rng(0))
    assert check.outcome is SlopeOutcome.PASS, check.reason
    assert control.outcome is SlopeOutcome.FAIL
    return found


@pytest.mark.parametrize(("claim", "part"), PARTS, ids=IDS)
def test_the_propositions_hold_on_cifar_images(cifar, claim, part):
    found = _holds(part, cifar)
    if part.statement != 0:
        assert found.size > 1e-3 * found.scale


@pytest.mark.parametrize("name", UCR)
def test_the_propositions_hold_on_ucr_series(spt_data, name):
    data = _ucr(spt_data, name)
    for _, part in PARTS:
        _holds(part, data)


def test_replay_and_enclosure_hold_on_a_real_series(spt_data):
    data = _ucr(spt_data, "ECG200")
    for _, part in PARTS:
        instance = exact_instance(part, data)
        assert replay(part.derivation(), part, instance) is None
        ball = enclose(part, instance)
        assert ball.meets
        assert ball.narrow


def test_the_raw_pattern_is_not_blind_on_real_series(spt_data):
    data = _ucr(spt_data, "GunPoint")
    general = find_claim("G1").parts[2]
    raw = float_instance(general, data, RealOptions(mask="full"))
    found = deviation(general, raw)
    assert found.within
    assert found.size > 1e-6 * found.scale
    assert found.size > 100 * found.tolerance

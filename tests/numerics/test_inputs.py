"""Bad input gets one sentence with rule, value and remedy, exit code 2, and leaves nothing behind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.__main__ import main
from numerics.errors import InputError
from numerics.inputs import load_tokens, photograph_crops
from numerics.patterns import attention_mask, pooling_weights, score_pattern

GOOD = np.linspace(-1, 1, 24).reshape(2, 4, 3)


def _save(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_tokens_and_labels_are_read_as_they_were_saved(tmp_path):
    data = load_tokens(_save(tmp_path / "good.npz", tokens=GOOD.astype(np.float32), labels=np.array([0, 2])))
    assert data.tokens.dtype == np.float64
    np.testing.assert_array_equal(data.tokens, GOOD.astype(np.float32))
    assert data.labels.tolist() == [0, 2]
    assert data.classes == 3


def test_crops_are_the_photograph_cut_row_by_row():
    data = photograph_crops(8)
    assert data.tokens.shape[1:] == (64, 1)
    assert 0.4 < data.labels.mean() < 0.6
    assert 0.5 < data.tokens.std() < 2


def _with(position, value):
    changed = GOOD.copy()
    changed[position] = value
    return changed


BAD = {
    "nan": ({"tokens": _with((1, 2, 0), np.nan)}, "finite"),
    "infinity": ({"tokens": _with((0, 0, 0), -np.inf)}, "finite"),
    "rank": ({"tokens": GOOD[0]}, "N x L x d"),
    "integers": ({"tokens": np.ones((2, 3, 1), dtype=np.int64)}, "astype"),
    "half precision": ({"tokens": GOOD.astype(np.float16)}, "astype"),
    "complex": ({"tokens": GOOD.astype(complex)}, "astype"),
    "empty": ({"tokens": np.zeros((0, 4, 1))}, "at least one sequence"),
    "one position": ({"tokens": np.zeros((3, 1, 2))}, "two positions"),
    "object array": ({"tokens": np.array([[1.0], [1.0, 2.0]], dtype=object)}, "pickled"),
    "other name": ({"x": GOOD}, "rename"),
    "label count": ({"tokens": GOOD, "labels": np.array([0, 1, 1])}, "one number a sequence"),
    "negative label": ({"tokens": GOOD, "labels": np.array([-1, 1])}, "0..K-1"),
    "large label": ({"tokens": GOOD, "labels": np.array([0, 10**6])}, "0..K-1"),
    "float label": ({"tokens": GOOD, "labels": np.array([0.0, 1.0])}, "integers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_token_files_get_one_sentence_and_exit_code_two(case, tmp_path, capsys, monkeypatch):
    arrays, word = BAD[case]
    monkeypatch.chdir(tmp_path)
    path = _save(tmp_path / "bad.npz", **arrays)
    assert main(["verify", "--tokens", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert word in said.err
    assert "Traceback" not in said.err
    assert said.err.count("error:") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.npz"]


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 truncated"])
def test_corrupt_files_are_named(content, tmp_path, capsys):
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    assert main(["verify", "--tokens", str(path)]) == 2
    assert "broken.npz" in capsys.readouterr().err.replace("\n", "")


def test_a_truncated_archive_is_refused(tmp_path):
    path = _save(tmp_path / "cut.npz", tokens=np.zeros((50, 40, 3)))
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(InputError):
        load_tokens(path)


def test_a_single_array_is_refused(tmp_path):
    np.save(tmp_path / "array.npy", GOOD)
    with pytest.raises(InputError, match="npz"):
        load_tokens(tmp_path / "array.npy")


def test_a_pickle_is_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was loaded",))

    np.savez(tmp_path / "bomb.npz", tokens=np.array([[Bomb()]], dtype=object))
    with pytest.raises(InputError, match="pickled"):
        load_tokens(tmp_path / "bomb.npz")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--tokens", "missing.npz"], "must exist"),
        (["--pattern", "spiral"], "unknown pattern"),
        (["--pattern", "gaussian"], "gaussian:8"),
        (["--pattern", "window:-3"], "positive"),
        (["--pattern", "other.npy"], "must exist"),
        (["--mask", "triangle"], "unknown mask"),
        (["--pooling", "cls:1024"], "0..1023"),
        (["--pooling", "max"], "unknown pooling"),
        (["--claim", "P7"], "P1-diag"),
        (["--jobs", "0"], "positive"),
    ],
)
def test_bad_options_get_one_sentence_and_exit_code_two(arguments, word, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", *arguments]) == 2
    said = capsys.readouterr()
    assert word in said.err
    assert "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_pattern_of_another_size_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("small.npy", np.eye(3))
    assert main(["verify", "--pattern", "small.npy"]) == 2
    assert "L=1024" in capsys.readouterr().err.replace("\n", "")


def test_a_mask_row_without_a_key_is_refused(tmp_path):
    mask = np.ones((3, 3))
    mask[1] = 0
    np.save(tmp_path / "mask.npy", mask)
    with pytest.raises(InputError, match="query 1 of 3 has none"):
        attention_mask(str(tmp_path / "mask.npy"), 3)
    np.save(tmp_path / "grey.npy", mask / 2)
    with pytest.raises(InputError, match="0 and 1 only"):
        attention_mask(str(tmp_path / "grey.npy"), 3)


def test_the_diagonal_mask_needs_two_positions():
    with pytest.raises(InputError, match="query 0 of 1 has none"):
        attention_mask("diagonal", 1)


@given(st.integers(2, 12))
def test_named_patterns_and_masks_are_what_they_say(count):
    rows, columns = np.indices((count, count))
    distance = np.abs(rows - columns)
    assert (score_pattern("alibi", count) == -distance).all()
    ring = score_pattern("periodic", count)
    assert (ring.sum(axis=0) == ring.sum(axis=0)[0]).all()
    assert ((score_pattern("window:2", count) == 1) == (distance <= 2)).all()
    assert np.allclose(score_pattern("gaussian:3", count), np.exp(-(distance**2) / 18))
    assert (attention_mask("causal", count) == (columns <= rows)).all()
    assert (attention_mask("band:1", count) == (distance <= 1)).all()
    weights, position = pooling_weights(f"cls:{count - 1}", count)
    assert position == count - 1
    assert (weights == pooling_weights("last", count)[0]).all()
    assert pooling_weights("mean", count)[0].sum() == pytest.approx(1)

"""The audit runs on the data of the paper, where the data folder is at hand, and finds what is known of them."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from numerics.audit.run import AuditOptions, audit
from numerics.inputs import load_sequences


def saved(folder, **arrays):
    np.savez(folder / "tokens.npz", **arrays)
    return load_sequences(folder / "tokens.npz")


def test_grey_images_are_local_and_labels_see_a_ninth(spt_data, tmp_path):
    with np.load(spt_data / "cifar10" / "cifar10_gray_jpeg.npz", allow_pickle=False) as archive:
        images, labels = archive["x_train"][:60], archive["y_train"][:60]
    held = saved(tmp_path, tokens=(images.reshape(60, 1024, 1) - 122.6) / 61.0, labels=labels.astype(np.int64))
    found = audit(held, AuditOptions())
    assert found["verdict"]["outcome"] == "would_help"
    assert found["numbers"]["blind_energy_fraction"]["value"] == pytest.approx(8 / 9, abs=1e-4)
    assert found["data"]["classes"] == 10


def test_a_ucr_series_whose_mean_is_removed_has_no_pooled_spread(spt_data, tmp_path):
    table = np.loadtxt(spt_data / "ucr" / "UCRArchive_2018" / "GunPoint" / "GunPoint_TRAIN.tsv")
    found = audit(saved(tmp_path, tokens=table[:, 1:, None]), AuditOptions(mask_ratio=0.15))
    assert found["verdict"]["outcome"] == "would_help"
    assert "the same in every sequence" in found["numbers"]["blind_range"]["note"]


def test_expressions_are_read_as_symbols(spt_data, tmp_path):
    with open(spt_data / "listops" / "listops-1000" / "basic_val.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))[:40]
    words = [[w for w in row["Source"].split() if w not in "()"][:500] for row in rows]
    vocabulary = sorted({w for row in words for w in row})
    ids = np.array([[vocabulary.index(w) for w in row] for row in words])
    found = audit(saved(tmp_path, tokens=ids), AuditOptions(pattern="gaussian:4"))
    assert found["data"]["width"] == 15
    assert found["data"]["embedding"] == "one-hot"
    assert found["numbers"]["order_slope"]["high"] is not None

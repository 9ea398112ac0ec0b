"""UCR: both releases give the same arrays, labels come from TRAIN, and damaged files are one sentence."""

import numpy as np
import pytest
import torch

from tests.training.data.made import ucr
from training.data.places import DataError, MissingDataError
from training.data.ucr import PAPER_SETS, UcrTask, find_part, read_series


@pytest.mark.parametrize("name", PAPER_SETS)
def test_the_real_set_has_its_size_and_balanced_scale(name, real_data):
    data = UcrTask(name).load()
    train, test, length = PAPER_SETS[name]
    assert (tuple(data.train.tokens.shape), len(data.test)) == ((train, length, 1), test)
    assert data.train.tokens.dtype == torch.float32
    values = data.train.tokens.double()
    assert abs(float(values.mean())) < 1e-6
    assert abs(float(values.std(correction=0)) - 1) < 1e-6
    assert data.train.labels is not None
    assert set(data.train.labels.tolist()) == {0, 1}
    assert data.classes == 2


@pytest.mark.parametrize("name", PAPER_SETS)
@pytest.mark.parametrize("part", ["TRAIN", "TEST"])
def test_tsv_and_ts_of_the_real_sets_hold_the_same_numbers(name, part, real_data):
    table = read_series(real_data / f"ucr/UCRArchive_2018/{name}/{name}_{part}.tsv")
    series = read_series(real_data / f"ucr/Univariate_ts/{name}/{name}_{part}.ts")
    for (label, values), (other_label, other_values) in zip(table, series, strict=True):
        assert label == other_label
        np.testing.assert_array_equal(values, other_values)


def test_ecg200_labels_of_minus_one_and_one_become_0_and_1(real_data):
    data = UcrTask("ECG200").load()
    assert data.provenance["labels"] == [-1.0, 1.0]
    assert data.train.labels is not None
    assert data.train.labels.bincount().tolist() == [31, 69]


def test_the_raw_set_is_scaled_by_train_and_keeps_differences_of_level_unless_each_series_is_normalised(real_data):
    levels = {how: UcrTask("GunPointAgeSpan", normalise=how).load().train.tokens.mean(1) for how in ("train", "series")}
    assert float(levels["train"].std()) > 0.1
    assert float(levels["series"].abs().max()) < 1e-5
    assert float(UcrTask("GunPointAgeSpan", normalise="none").load().train.tokens.min()) > 190


def test_labels_in_scientific_notation_and_runs_of_blanks_are_read(tmp_path):
    path = tmp_path / "Old_TRAIN.txt"
    path.write_text("  1.0000000e+00   1.5000000e+00  -2.5\n  2.0000000e+00   0.5   1\r\n")
    (first, values), (second, _) = read_series(path)
    assert (first, second, values.tolist()) == (1.0, 2.0, [1.5, -2.5])


def test_a_ts_file_with_curly_quotes_gives_what_the_tsv_gives(data_folder):
    ucr(data_folder, ts=True)
    from_ts = UcrTask("Toy").load().train.tokens
    ucr(data_folder)
    assert find_part("Toy", "TRAIN").suffix == ".tsv"
    assert torch.equal(from_ts, UcrTask("Toy", split_seed=43).load().train.tokens)


def test_missing_values_at_the_end_are_padding(data_folder):
    rows = [("0", "1 2 3 NaN"), ("1", "4 3 2 1"), ("1", "2 2 NaN NaN")]
    ucr(data_folder, train=rows)
    data = UcrTask("Toy", normalise="none").load()
    assert data.train.lengths.tolist() == [3, 4, 2]
    assert data.train.tokens[2, :, 0].tolist() == [2, 2, 0, 0]


def test_a_held_out_fifth_is_disjoint_from_train_and_the_test_set_doubles_otherwise(data_folder):
    ucr(data_folder)
    split = UcrTask("Toy", validation="split").load()
    assert (len(split.train), len(split.validation), len(split.test)) == (4, 1, 5)
    assert not any(torch.equal(split.validation.tokens[0], row) for row in split.train.tokens)
    doubled = UcrTask("Toy").load()
    assert torch.equal(doubled.validation.tokens, doubled.test.tokens)


@pytest.mark.parametrize(
    ("train", "test", "sentence"),
    [
        ([("0", "1 2 3"), ("1", "1 2")], None, "line 2 has 2, the first 3"),
        ([("0", "1 2 3"), ("1", "1 x 3")], None, "a series is a label and numbers: .*line 2"),
        ([("0", "1 NaN 3"), ("1", "1 2 3")], None, "missing only at the end: .*line 1"),
        ([("0", "NaN NaN"), ("1", "1 2")], None, "a series needs values: .*line 1"),
        ([("0", "1 2"), ("0", "2 1")], None, "a task needs two labels"),
        ([("0", "1 2"), ("1", "2 1")], [("3", "1 2")], "TEST may hold only labels of TRAIN: .*has 3"),
    ],
)
def test_damaged_series_are_refused_by_file_and_line(train, test, sentence, data_folder):
    ucr(data_folder, train=train, test=test)
    with pytest.raises(DataError, match=sentence):
        UcrTask("Toy").load()
    assert not list(data_folder.parent.glob("prepared/*"))


def test_a_set_that_is_not_there_names_the_command(data_folder):
    with pytest.raises(MissingDataError, match="run python -m training data fetch ucr:Coffee"):
        UcrTask("Coffee").load()
    with pytest.raises(DataError, match="a UCR set has a plain name"):
        UcrTask("../../etc/passwd")


def test_multivariate_series_are_refused(tmp_path):
    path = tmp_path / "M_TRAIN.ts"
    path.write_text("@univariate false\n@data\n1,2:0\n")
    with pytest.raises(DataError, match="series must be univariate"):
        read_series(path)

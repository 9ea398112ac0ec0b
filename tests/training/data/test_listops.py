"""ListOps: columns by name, brackets kept, line ends of any kind, values that two evaluators agree on."""

import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.data.made import LISTOPS_ROWS, listops, prepared_within
from training.data.listops import VOCABULARY, ListOpsTask, find_release, read_source, short_listops
from training.data.listops_generator import (
    ListOpsLaw,
    apply,
    evaluate,
    rows,
    with_parentheses,
    write_release,
)
from training.data.places import DataError
from training.data.tables import named_columns

TINY = ListOpsLaw(train=30, validation=5, test=5, more_than=5, less_than=40)


def decoded(data, row=0):
    length = int(data.train.lengths[row])
    return [VOCABULARY.symbols[index] for index in data.train.tokens[row, :length].tolist()]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["Source\tTarget", "Target\tSource"])
def test_rows_are_read_by_column_name_with_either_line_end(end, header, data_folder):
    listops(data_folder / "listops/listops-1000", end, header)
    data = ListOpsTask().load()
    assert decoded(data) == ["[MAX", "2", "9", "]", "<eos>"]
    assert data.train.labels is not None
    assert data.train.labels.tolist() == [9, 2, 7]


def test_mixed_line_ends_and_a_missing_last_one_are_read(data_folder):
    listops(data_folder / "listops-1000")
    path = data_folder / "listops-1000/basic_train.tsv"
    path.write_bytes(b"Source\tTarget\r\n1\t1\n[MIN 2 3 ]\t2\r\n4\t4")
    assert ListOpsTask().load().train.lengths.tolist() == [2, 5, 2]


def test_the_vocabulary_has_19_ids_with_the_mask_symbol_first():
    assert len(VOCABULARY) == 19
    assert VOCABULARY.symbols[:4] == ("<mask>", "<pad>", "<unk>", "<eos>")
    assert "]" in VOCABULARY.symbols
    assert "(" not in VOCABULARY.symbols
    assert ListOpsTask().model_shape() == {"vocabulary": 19, "classes": 10}


@pytest.mark.parametrize("place", ["listops", "listops/listops-1000", "lra_release/lra_release/listops-1000"])
def test_the_release_is_found_in_every_layout_people_have(place, data_folder):
    listops(data_folder / place)
    assert find_release() == data_folder / place


def test_the_real_rows_have_their_values_and_survive_the_way_there_and_back(real_data):
    for name in ("val", "test"):
        path = real_data / f"listops/listops-1000/basic_{name}.tsv"
        for _, (source, target) in named_columns(path, ("Source", "Target")):
            tokens = read_source(source)
            assert evaluate(tokens) == int(target)
            assert with_parentheses(tokens) == source


def test_the_real_sets_load_with_their_sizes_and_lengths(real_data):
    data = ListOpsTask().load()
    assert [len(split) for split in (data.train, data.validation, data.test)] == [600, 200, 200]
    assert int(data.train.lengths.min()) == 503 + 1
    assert int(data.train.lengths.max()) == 1975 + 1
    assert data.train.tokens.dtype == torch.uint8
    assert data.train.batch(torch.arange(2)).tokens.dtype == torch.int64
    short = ListOpsTask(source="nangia-bowman").load()
    assert [len(split) for split in (short.train, short.validation, short.test)] == [8000, 1000, 1000]
    lengths = torch.cat([short.train.lengths, short.validation.lengths, short.test.lengths])
    assert (int(lengths.min()), int(lengths.max())) == (1 + 1, 939 + 1)


@pytest.mark.parametrize(
    ("rows", "header", "sentence"),
    [
        ((*LISTOPS_ROWS, ("1 2", 10)), "Source\tTarget", "labels lie in 0..9: .*line 5 has '10'"),
        ((("[AVG 1 2 ]", 1),), "Source\tTarget", r"every symbol must be in the vocabulary: .*line 2 has '\[AVG'"),
        (LISTOPS_ROWS, "source\ttarget", "names its columns: .* has no 'Source'"),
        ((("1\t", 1),), "Source\tTarget", "every line has 2 columns: .*line 2 has 3"),
        ((("( )", 1),), "Source\tTarget", "a row needs an expression"),
        ((("[MAX 2 9", 9),), "Source\tTarget", "line 2 is no expression, it may be cut off or have lost its brackets"),
        ((*LISTOPS_ROWS, ("[MIN 2 [MAX 3", 2)), "Target\tSource", "line 5 is no expression, it may be cut off"),
        ((("[MIN 2 9 ]", 9),), "Source\tTarget", "basic_train.tsv, line 2 says 9, the expression has 2; get"),
        ((), "Source\tTarget", "a ListOps file needs rows: .*basic_train.tsv has only a header; get the file again"),
    ],
)
def test_damaged_rows_are_refused_by_file_and_line(rows, header, sentence, data_folder):
    listops(data_folder / "listops", header=header, rows=rows)
    with pytest.raises(DataError, match=sentence):
        ListOpsTask().load()


def test_a_truncated_last_line_is_refused(data_folder):
    listops(data_folder / "listops")
    path = data_folder / "listops/basic_test.tsv"
    path.write_bytes(path.read_bytes().removesuffix(b"\t7\r\n"))
    with pytest.raises(DataError, match="line 4 has 1, it may be cut off"):
        ListOpsTask().load()


def test_a_row_that_is_too_long_is_refused_or_dropped_but_never_cut(data_folder):
    listops(data_folder / "listops")
    with pytest.raises(DataError, match=r"at most 5 tokens: .*line 3 has 6; raise length"):
        ListOpsTask(length=5).load()
    assert ListOpsTask(length=5, too_long="drop").load().train.lengths.tolist() == [5, 2]


def test_rows_that_are_not_there_name_a_command_that_works(data_folder):
    with pytest.raises(DataError, match=r"fetch listops --allow-unknown-checksum, or use listops-generated, which is"):
        ListOpsTask().load()
    listops(data_folder / "listops/listops-1000")
    (data_folder / "listops/listops-1000/basic_val.tsv").unlink()
    with pytest.raises(DataError, match=r"fetch listops --allow-unknown-checksum --replace-old, or use"):
        ListOpsTask().load()


def test_a_pickle_offered_as_rows_is_refused(data_folder):
    listops(data_folder / "listops")
    (data_folder / "listops/basic_val.tsv").write_bytes(b"\x80\x04\x95.")
    with pytest.raises(DataError, match="pickles are never read"):
        ListOpsTask().load()


def test_generated_rows_obey_the_law_are_distinct_and_repeat_for_a_seed():
    made = list(rows(TINY))
    assert [split for split, _, _ in made].count("train") == 30
    assert len({" ".join(tokens) for _, tokens, _ in made}) == len(made) == 40
    for _, tokens, value in made:
        assert TINY.more_than < len(tokens) < TINY.less_than
        assert evaluate(tokens) == value
    assert made == list(rows(TINY))
    other = ListOpsLaw(train=30, validation=5, test=5, more_than=5, less_than=40, seed=1)
    assert made != list(rows(other))


def test_a_generated_set_written_as_the_release_loads_to_the_same_arrays(data_folder):
    (data_folder / "listops-1000").mkdir()
    write_release(TINY, data_folder / "listops-1000")
    assert (data_folder / "listops-1000/basic_val.tsv").read_bytes().startswith(b"Source\tTarget\r\n( ")
    read, made = ListOpsTask().load(), ListOpsTask(source="generated", law=TINY).load()
    for split in ("train", "validation", "test"):
        assert torch.equal(getattr(read, split).tokens, getattr(made, split).tokens)
        assert torch.equal(getattr(read, split).labels, getattr(made, split).labels)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=10))
def test_the_median_is_truncated_as_numpys_and_the_sum_is_modulo_10(values):
    assert apply("[MED", values) == int(np.median(values))
    assert apply("[SM", values) == np.sum(values) % 10


@pytest.mark.parametrize("text", ["[MAX 2", "2 ]", "[MAX ]", "2 3", "", "[MAX 2 ) ]"])
def test_what_is_no_expression_has_no_value(text):
    assert evaluate(text.split()) is None


def test_a_law_without_rows_says_so():
    with pytest.raises(DataError, match="lengths must lie between bounds"):
        ListOpsLaw(more_than=10, less_than=11)
    with pytest.raises(DataError, match="the law must have rows: the longest has 4 tokens"):
        ListOpsLaw(greatest_depth=2, most_arguments=2, more_than=500)
    assert short_listops().law.less_than == 256


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are Linux's")
def test_rows_of_40_megabytes_are_prepared_within_12_megabytes(data_folder):
    """As for Retrieval: ids of all rows together (about 170 bytes a row) do not fit; nor does the file, the control."""
    listops(data_folder / "listops")
    path = data_folder / "listops/basic_train.tsv"
    line = "( " * 100 + "7" + " )" * 100 + "\t7\r\n"
    with path.open("w", newline="") as file:
        file.write("Source\tTarget\r\n")
        file.writelines(line for _ in range(40_000_000 // len(line)))
    assert path.stat().st_size > 39_000_000
    found = prepared_within(12, "training.data.listops", "ListOpsTask()", path)
    assert found == [str(40_000_000 // len(line)), "not whole"]

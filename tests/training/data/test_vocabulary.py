"""Vocabularies: the mask symbol first, an order that only counts decide, two ways of encoding that agree."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.data.places import DataError
from training.data.tables import lines, named_columns
from training.data.vocabulary import END, MASK, UNKNOWN, Vocabulary

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


@given(TEXTS, TEXTS)
def test_characters_encoded_by_table_are_those_encoded_one_by_one(known, text):
    vocabulary = Vocabulary.counted(Counter(known), 1)
    ids = vocabulary.encode_characters(text).tolist()
    assert ids == vocabulary.encode(text, "here", unknown=True).tolist()
    assert ids[-1] == END
    assert MASK not in ids
    restored = [vocabulary.symbols[index] if index != UNKNOWN else None for index in ids[:-1]]
    assert restored == [symbol if symbol in known else None for symbol in text]


@given(st.permutations("aabbbcdd"))
def test_ids_follow_counts_and_then_code_points_whatever_the_order_of_the_text(text):
    vocabulary = Vocabulary.counted(Counter(text), 2)
    assert vocabulary.symbols == ("<mask>", "<pad>", "<unk>", "<eos>", "b", "a", "d")


@pytest.mark.parametrize(("size", "dtype"), [(252, "uint8"), (253, "int16")])
def test_ids_are_stored_in_the_smallest_integers_that_hold_them(size, dtype):
    assert Vocabulary.of(chr(300 + index) for index in range(size)).dtype == dtype


@given(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=1, max_size=8))
def test_any_mixture_of_line_ends_gives_the_same_rows(tmp_path_factory, ends):
    path = tmp_path_factory.mktemp("lines") / "x.tsv"
    path.write_bytes(b"b\ta\n" + b"".join(f'{row}\tx"{row}{end}'.encode() for row, end in enumerate(ends)))
    found = [fields for _, fields in named_columns(path, ("a", "b"))]
    assert found == [(f'x"{row}', str(row)) for row in range(len(ends))]


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("training.data.tables.LONGEST_LINE", 100)
    (tmp_path / "x.tsv").write_bytes(b"a\n" + b"x" * 101)
    with pytest.raises(DataError, match=r"at most 100 bytes: .*line 2 is longer"):
        list(lines(tmp_path / "x.tsv"))
    (tmp_path / "x.tsv").write_bytes(b"a\n\xff\n")
    with pytest.raises(DataError, match=r"text must be UTF-8: .*line 2"):
        list(lines(tmp_path / "x.tsv"))


def test_values_of_any_length_are_shown_short(tmp_path):
    (tmp_path / "x.tsv").write_bytes(b"x" * 9999 + b"\t" + b"y" * 9999 + b"\n")
    with pytest.raises(DataError, match=rf"has no 'a' but '{'x' * 20}…', '{'y' * 20}…'; add the header a$"):
        list(named_columns(tmp_path / "x.tsv", ("a",)))
    with pytest.raises(DataError, match=rf"here has '{'z' * 20}…', known are a b; correct the file"):
        Vocabulary.of("ab").encode(["a", "z" * 9999], "here")

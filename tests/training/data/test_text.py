"""Text: only labeled reviews count, the archive's order does not, and the vocabulary comes from train."""

import io
import tarfile

import pytest
import torch

from tests.training.data.made import imdb_archive, imdb_folder, reviews
from training.data.places import DataError
from training.data.text import TextTask
from training.data.vocabulary import END, UNKNOWN

TINY = TextTask(length=12, least_count=1)


def decoded(split, vocabulary, row):
    length = int(split.lengths[row])
    return "".join(vocabulary[index] for index in split.tokens[row, :length].tolist())


def test_folder_and_archive_give_the_same_arrays_whatever_the_order(data_folder):
    imdb_archive(data_folder / "aclImdb_v1.tar.gz")
    packed = TINY.load()
    imdb_folder(data_folder)
    unpacked = TextTask(length=12, least_count=1, split_seed=42, vocabulary=134).load()
    for split in ("train", "test"):
        assert torch.equal(getattr(packed, split).tokens, getattr(unpacked, split).tokens)
        assert torch.equal(getattr(packed, split).labels, getattr(unpacked, split).labels)


def test_unsupervised_reviews_do_not_leak_into_train_or_vocabulary(data_folder):
    imdb_folder(data_folder, secret="ß")
    data = TINY.load()
    assert len(data.train) == 10
    assert "ß" not in data.provenance["vocabulary"]


def test_labels_follow_the_folder_and_texts_are_cut_and_ended(data_folder):
    imdb_folder(data_folder)
    data = TINY.load()
    vocabulary = data.provenance["vocabulary"]
    assert data.train.labels is not None
    texts = {decoded(data.train, vocabulary, row): int(data.train.labels[row]) for row in range(10)}
    assert texts["good film 0<eos>"] == 1
    assert texts["bad film 0 <eos>"] == 0
    assert int(data.train.lengths.max()) == 12
    assert bool((data.train.tokens[torch.arange(10), data.train.lengths - 1] == END).all())


def test_rare_characters_are_unknown(data_folder):
    imdb_folder(data_folder)
    data = TextTask(least_count=5).load()
    assert "é" in data.provenance["vocabulary"]
    assert "0" not in data.provenance["vocabulary"]
    assert bool((data.train.tokens == UNKNOWN).any())


def test_the_test_set_doubles_as_validation_unless_a_tenth_is_held_out(data_folder):
    imdb_folder(data_folder, repeat=10)
    doubled, split = TINY.load(), TextTask(length=12, validation="split").load()
    assert torch.equal(doubled.validation.tokens, doubled.test.tokens)
    assert (len(split.train), len(split.validation), len(split.test)) == (18, 2, 20)


def test_a_vocabulary_larger_than_the_network_is_refused(data_folder):
    imdb_folder(data_folder)
    with pytest.raises(DataError, match=r"the vocabulary must fit the network: .* room for 10"):
        TextTask(least_count=1, vocabulary=10).load()


def test_a_rating_that_contradicts_its_folder_is_refused(data_folder):
    imdb_folder(data_folder)
    (data_folder / "imdb/aclImdb/train/pos/7_3.txt").write_text("bad")
    with pytest.raises(DataError, match="pos is rated 7 to 10"):
        TINY.load()


def test_text_that_is_not_utf8_and_a_folder_without_negatives_are_refused(data_folder):
    imdb_folder(data_folder)
    (data_folder / "imdb/aclImdb/train/pos/7_9.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"a review must be UTF-8: train/pos/7_9.txt"):
        TINY.load()
    for file in [*(data_folder / "imdb/aclImdb/test/neg").iterdir(), data_folder / "imdb/aclImdb/train/pos/7_9.txt"]:
        file.unlink()
    with pytest.raises(DataError, match="lacks reviews of one"):
        TINY.load()


def test_an_archive_cut_off_is_refused(data_folder):
    path = data_folder / "imdb/aclImdb_v1.tar.gz"
    imdb_archive(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="an archive must be whole"):
        TINY.load()


@pytest.mark.parametrize(
    ("name", "kind", "content", "sentence"),
    [
        ("/etc/x/train/pos/77_9.txt", tarfile.REGTYPE, b"x", "'/etc/x/train/pos/77_9.txt', an absolute path"),
        ("../../train/pos/77_9.txt", tarfile.REGTYPE, b"x", "a path to a parent folder"),
        ("aclImdb/train/pos/77_9.txt", tarfile.SYMTYPE, b"", "77_9.txt', a link or device"),
        ("aclImdb/pipe", tarfile.FIFOTYPE, b"", "a link or device"),
        ("aclImdb/train/pos/0_9.txt", tarfile.REGTYPE, b"x", "a review occurs once: .* has train/pos/0_9.txt twice"),
        (
            "aclImdb/train/pos/77_9.txt",
            tarfile.REGTYPE,
            bytes(2**20 + 1),
            "at most 1048576 bytes: train/pos/77_9.txt of",
        ),
    ],
)
def test_archives_with_members_that_lead_elsewhere_repeat_or_are_too_large_are_refused(
    name, kind, content, sentence, data_folder
):
    path = data_folder / "imdb/aclImdb_v1.tar.gz"
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as archive:
        for member, text in [*reviews().items(), (name, "")]:
            info = tarfile.TarInfo(member)
            data = text.encode() or content
            info.type = tarfile.REGTYPE if text else kind
            info.size, info.linkname = len(data), "" if text else "/etc/passwd"
            archive.addfile(info, io.BytesIO(data))
    with pytest.raises(DataError, match=sentence):
        TINY.load()


def test_a_review_of_a_folder_that_is_too_large_is_refused_and_what_lies_there_is_replaced_by_fetch(data_folder):
    imdb_folder(data_folder)
    (data_folder / "imdb/aclImdb/test/neg/77_2.txt").write_bytes(bytes(2**20 + 1))
    with pytest.raises(DataError, match=r"test/neg/77_2.txt of .* has 1048577; run .* data fetch text --replace-old"):
        TINY.load()


@pytest.mark.slow
def test_the_real_subset_has_its_counts_and_a_vocabulary_within_the_full_one(real_data):
    data = TextTask(length=4096).load()
    assert (len(data.train), len(data.test)) == (10_000, 5000)
    assert data.train.labels is not None
    assert data.train.labels.bincount().tolist() == [5000, 5000]
    assert 100 < len(data.provenance["vocabulary"]) <= 135
    assert int((data.train.lengths == 4096).sum()) in range(290, 302)  # bytes > 4095: 301; characters are fewer

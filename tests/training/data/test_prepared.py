"""Prepared data: whole or not at all, hashed, mapped, independent of who prepared them when."""

import json
import multiprocessing

import numpy as np
import pytest
import torch

from tests.training.data.made import grey_npz, listops, ucr
from training.config import as_plain, from_plain
from training.data.catalogue import entries
from training.data.image import ImageTask
from training.data.listops import ListOpsTask
from training.data.places import DataError, data_root, prepared_root
from training.data.prepared import RECORD, Writer, load_prepared, prepare, prepared_folder
from training.data.sequences import Scaling, SequenceSet
from training.data.ucr import UcrTask
from training.errors import StorageError

IMAGES = ImageTask(source="jpeg", validation=6)


@pytest.fixture
def image_folder(data_folder):
    grey_npz(data_folder / "cifar10")
    prepare(IMAGES)
    return prepared_folder(IMAGES)


def test_every_split_and_array_is_recorded_with_its_hash_and_the_sources_with_theirs(image_folder):
    record = json.loads((image_folder / RECORD).read_text())
    assert record["schema_version"] == 1
    assert from_plain(record["config"]) == IMAGES
    assert set(record["splits"]) == {"train", "validation", "test"}
    assert all(len(split["index_sha256"]) == 64 for split in record["splits"].values())
    assert {len(file["sha256"]) for file in record["files"].values()} == {64}
    assert len(record["sources"]["cifar10_gray_jpeg.npz"]["sha256"]) == 64
    assert record["splits"]["train"]["seed"] == 42


def test_a_second_preparation_writes_the_same_bytes(image_folder):
    before = {path.name: path.read_bytes() for path in image_folder.iterdir()}
    prepare(IMAGES)
    assert before == {path.name: path.read_bytes() for path in image_folder.iterdir()}


def test_arrays_are_mapped_and_writing_to_a_tensor_does_not_reach_the_file(image_folder):
    first = IMAGES.load().train.tokens
    wanted = first.clone()
    first[:] = 0
    assert torch.equal(IMAGES.load().train.tokens, wanted)


@pytest.mark.parametrize("name", ["train-tokens.npy", "test-labels.npy"])
def test_a_changed_or_missing_array_is_refused_with_the_remedy(name, image_folder):
    content = bytearray((image_folder / name).read_bytes())
    content[-1] ^= 1
    (image_folder / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"{name} has another SHA-256; delete .* and prepare again"):
        IMAGES.load()
    (image_folder / name).unlink()
    with pytest.raises(DataError, match=name):
        IMAGES.load()


@pytest.mark.parametrize("content", ["{", "[]", '{"schema_version": 1}', ""])
def test_a_damaged_record_is_refused(content, image_folder):
    (image_folder / RECORD).write_text(content)
    with pytest.raises(DataError, match="prepared data need a whole prepared"):
        IMAGES.load()


def test_a_record_of_another_version_is_refused(image_folder):
    record = json.loads((image_folder / RECORD).read_text())
    (image_folder / RECORD).write_text(json.dumps(record | {"schema_version": 2}))
    with pytest.raises(DataError, match="of this task and version"):
        IMAGES.load()


def test_raw_data_that_changed_since_are_noticed_and_raw_data_that_are_gone_are_not_needed(image_folder, data_folder):
    path = data_folder / "cifar10/cifar10_gray_jpeg.npz"
    content = path.read_bytes()
    path.unlink()
    assert len(IMAGES.load().train) == 54
    path.write_bytes(content + b"more")
    with pytest.raises(DataError, match="of the raw data that are there"):
        IMAGES.load()


def test_a_preparation_that_fails_leaves_nothing(data_folder):
    listops(data_folder / "listops", rows=(("1", 1), ("2", 11)))
    with pytest.raises(DataError, match="labels lie in"):
        prepare(ListOpsTask())
    assert not list(prepared_root().iterdir())


def test_a_full_disk_is_one_sentence_and_leaves_nothing(data_folder, monkeypatch):
    listops(data_folder / "listops")

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "array", full)
    with pytest.raises(StorageError, match="No space left on device"):
        prepare(ListOpsTask())
    assert not list(prepared_root().iterdir())


def _load(_):
    return int(load_prepared(UcrTask("Toy")).train.tokens.numel())


def test_processes_that_prepare_at_the_same_time_all_succeed(data_folder):
    ucr(data_folder)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(_load, range(3)) == [20, 20, 20]
    assert [path.name for path in prepared_root().iterdir()] == [prepared_folder(UcrTask("Toy")).name]


def test_every_task_is_read_again_from_its_record():
    for entry in entries():
        assert from_plain(json.loads(json.dumps(as_plain(entry.task)))) == entry.task


def test_without_spt_data_the_users_cache_is_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("SPT_DATA", raising=False)
    monkeypatch.delenv("SPT_PREPARED", raising=False)
    assert data_root().name == "attention-blindness"
    assert prepared_root() == data_root() / "prepared"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "file"))
    with pytest.raises(DataError, match="SPT_DATA must name a folder"):
        data_root()


def test_arrays_of_a_read_only_data_folder_go_to_the_users_cache(data_folder, monkeypatch):
    monkeypatch.delenv("SPT_PREPARED")
    assert prepared_root() == data_folder / "prepared"
    monkeypatch.setattr("os.access", lambda path, mode: data_folder not in (path, path.parent))
    assert data_folder not in prepared_root().parents


def test_bytes_become_values_and_ids_in_a_batch_alone():
    pixels = torch.arange(12, dtype=torch.uint8).reshape(2, 6, 1)
    split = SequenceSet(pixels, torch.tensor([6, 3]), scaling=Scaling(0.5, -1.0), targets=pixels[..., 0])
    assert split.batch(torch.tensor([1])).tokens[0, :, 0].tolist() == [2.0, 2.5, 3.0]
    assert split.batch(torch.tensor([1])).targets.tolist() == [[6, 7, 8]]
    assert split.values(torch.tensor([1])).shape == (1, 6, 1)
    assert split.subset(1).scaling == split.scaling
    assert split.subset(1).targets.shape == (1, 6)  # type: ignore[union-attr]
    ids = SequenceSet(torch.ones(2, 4, dtype=torch.int16), torch.tensor([4, 4]))
    assert ids.batch(torch.tensor([0])).tokens.dtype == torch.int64
    values = torch.zeros(1, 2, 1, dtype=torch.float64)
    assert SequenceSet(values, torch.tensor([2])).batch(torch.tensor([0])).tokens.dtype == torch.float64


def test_rows_written_one_by_one_are_what_numpy_reads(tmp_path):
    rows = [np.arange(3), np.arange(5)]
    Writer(tmp_path).rows("x", (2, 5), "int16", iter(rows))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), [[0, 1, 2, 0, 0], [0, 1, 2, 3, 4]])
    with pytest.raises(DataError, match="data must not change while they are read"):
        Writer(tmp_path).rows("x", (3, 5), "int16", iter(rows))

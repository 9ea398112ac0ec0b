"""Image: official records and the JPEG variant, bytes in storage, values in a batch, pickles refused."""

import pickle

import numpy as np
import pytest
import torch
from PIL import Image

from tests.training.data.made import cifar, grey_npz
from training.data import image
from training.data.image import ImageTask, grey, read_records, shrink
from training.data.places import DataError


@pytest.fixture
def small_release(monkeypatch):
    monkeypatch.setattr(image, "_RECORDS", 4)


def test_official_records_of_the_real_slice_turn_into_the_grey_images_of_the_npz(real_data):
    with np.load(real_data / "cifar10/cifar10_gray_jpeg.npz", allow_pickle=False) as file:
        wanted, labels = file["x_test"][:20], file["y_test"][:20]
    found, found_labels = read_records(real_data / "cifar10/cifar-10-batches-bin/test_batch.bin")
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(found_labels, labels)


def test_grey_is_pillows_grey():
    planes = np.random.default_rng(0).integers(0, 256, (50, 3, 8, 8), dtype=np.uint8)
    wanted = [np.asarray(Image.fromarray(one.transpose(1, 2, 0)).convert("L")) for one in planes]
    np.testing.assert_array_equal(grey(planes), np.stack(wanted))


@pytest.mark.slow
def test_real_images_fit_in_memory_as_bytes_and_a_batch_is_standardised(real_data):
    data = ImageTask(source="jpeg").load()
    assert (len(data.train), len(data.validation), len(data.test)) == (45_000, 5000, 10_000)
    assert data.train.tokens.dtype == torch.uint8
    batch = data.train.batch(torch.arange(2000))
    assert batch.tokens.shape == (2000, 1024, 1)
    assert abs(float(batch.tokens.mean())) < 0.05
    assert 0.9 < float(batch.tokens.std()) < 1.1
    assert batch.targets is batch.tokens


def test_values_are_those_of_the_code_base(data_folder):
    grey_npz(data_folder / "cifar10")
    train = ImageTask(source="jpeg", validation=6).load().train
    pixels = train.tokens[:5].double() / 255
    wanted = (pixels - 122.6 / 255) / (61 / 255)
    torch.testing.assert_close(train.batch(torch.arange(5)).tokens.double(), wanted, rtol=0, atol=1e-6)


def test_a_class_sorted_copy_is_split_at_random_and_not_by_position(data_folder):
    grey_npz(data_folder / "cifar10", train=1000)
    data = ImageTask(source="jpeg", validation=100).load()
    assert data.validation.labels is not None
    assert len(data.validation.labels.unique()) == 10


def test_the_split_is_torchs_random_split_with_seed_42(data_folder):
    grey_npz(data_folder / "cifar10")
    data = ImageTask(source="jpeg", validation=6).load()
    with np.load(data_folder / "cifar10/cifar10_gray_jpeg.npz", allow_pickle=False) as file:
        pool = torch.from_numpy(file["x_train"])
    whole: torch.utils.data.Dataset[int] = torch.utils.data.TensorDataset(torch.arange(60))  # type: ignore[assignment]
    _, held_out = torch.utils.data.random_split(whole, [54, 6], generator=torch.Generator().manual_seed(42))
    assert torch.equal(data.validation.tokens, pool[list(held_out.indices)].reshape(6, 1024, 1))
    assert data.provenance["splits"]["validation"]["seed"] == 42


def test_images_are_read_row_by_row_and_shrunk_by_block_means():
    picture = np.arange(1024, dtype=np.uint32).reshape(1, 32, 32) % 251
    small = shrink(picture.astype(np.uint8), 16)
    assert small[0, 0, 1] == int(np.floor(picture[0, :2, 2:4].mean() + 0.5))
    assert shrink(picture.astype(np.uint8), 32).tolist() == picture.tolist()


def test_sixteen_pixels_a_side_are_256_tokens(data_folder):
    grey_npz(data_folder / "cifar10")
    task = ImageTask(source="jpeg", size=16, validation=6, train_limit=20, test_limit=5)
    data = task.load()
    assert (tuple(data.train.tokens.shape), len(data.test), task.name) == ((20, 256, 1), 5, "image16")


def test_the_official_release_is_read_whole(data_folder, small_release):
    cifar(data_folder / "cifar10/cifar-10-batches-bin")
    data = ImageTask(validation=5).load()
    assert (len(data.train), len(data.validation), len(data.test)) == (15, 5, 4)


def test_an_incomplete_release_is_refused_with_the_number_found(real_data):
    with pytest.raises(DataError, match=r"holds 10000 images: .*data_batch_1.bin has 4; .*image-jpeg"):
        ImageTask().load()


def test_a_file_cut_off_within_a_record_is_refused(data_folder, small_release):
    folder = data_folder / "cifar-10-batches-bin"
    cifar(folder)
    (folder / "data_batch_3.bin").write_bytes((folder / "data_batch_3.bin").read_bytes()[:-1])
    with pytest.raises(DataError, match=r"records of 3073 bytes: .*data_batch_3.bin has 12291"):
        ImageTask(validation=5).load()


def test_a_label_out_of_range_is_refused(data_folder, small_release):
    folder = data_folder / "cifar-10-batches-bin"
    cifar(folder)
    content = bytearray((folder / "test_batch.bin").read_bytes())
    content[3073] = 10
    (folder / "test_batch.bin").write_bytes(content)
    with pytest.raises(DataError, match=r"labels lie in 0..9: .*test_batch.bin, image 1 has 10"):
        ImageTask(validation=5).load()


def test_the_python_version_is_a_pickle_and_is_refused(data_folder, small_release):
    (data_folder / "cifar-10-batches-py").mkdir()
    with pytest.raises(DataError, match="pickles are never read"):
        ImageTask().load()
    cifar(data_folder / "cifar-10-batches-bin")
    (data_folder / "cifar-10-batches-bin/data_batch_1.bin").write_bytes(b"\x80\x02}q\x01.")
    with pytest.raises(DataError, match="pickles are never read"):
        ImageTask().load()


def test_an_npz_with_objects_is_refused(data_folder):
    grey_npz(data_folder / "cifar10", x_train=np.array([{}, {}], dtype=object))
    with pytest.raises(DataError, match=r"pickles are never read, they can run code: .*npz holds objects; put a"):
        ImageTask(source="jpeg").load()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y_train": np.full(60, -1)}, "labels lie in 0..9: .*image 0 has -1"),
        ({"y_train": np.full(60, 10, dtype=np.uint8)}, "labels lie in 0..9: .*image 0 has 10"),
        ({"y_train": np.full(60, np.nan)}, "labels are whole numbers: y_train of .* is float64"),
        ({"y_train": np.full(60, "cat")}, "labels are whole numbers: y_train of .* is <U3"),
        (
            {"x_test": np.zeros((0, 32, 32), np.uint8), "y_test": np.zeros(0, np.uint8)},
            "needs images: x_test of .* none",
        ),
        ({"x_train": np.zeros((60, 32, 32))}, "grey images are bytes, 32 by 32: x_train is float64"),
        ({"x_train": np.array(3, dtype=np.uint8)}, r"grey images are bytes, 32 by 32: x_train is uint8 \(\)"),
    ],
)
def test_arrays_that_are_no_grey_images_and_labels_are_refused(changes, sentence, data_folder):
    grey_npz(data_folder / "cifar10", **changes)
    with pytest.raises(DataError, match=sentence):
        ImageTask(source="jpeg", validation=6).load()


def test_files_that_are_no_npz_are_refused_without_advice_to_read_pickles(data_folder):
    folder = data_folder / "cifar10"
    grey_npz(folder)
    path = folder / "cifar10_gray_jpeg.npz"
    content = path.read_bytes()
    for damaged in (content[:-500], content[:1000] + b"\xff" + content[1001:], b"", b"cos\nsystem\n."):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"the npz holds plain x_train, y_train, x_test, y_test: .*get it again"):
            ImageTask(source="jpeg").load()
    path.write_bytes(pickle.dumps({"x_train": 1}))
    with pytest.raises(DataError, match=r"pickles are never read, they can run code: .*npz is one; put a") as refused:
        ImageTask(source="jpeg").load()
    assert "allow_pickle" not in str(refused.value)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(DataError, match=r"cifar10_gray_jpeg.npz is no npz"):
        ImageTask(source="jpeg").load()


def test_a_release_that_is_there_in_part_is_fetched_over_what_is_there(data_folder):
    with pytest.raises(DataError, match=r"run python -m training data fetch image$"):
        ImageTask().load()
    cifar(data_folder / "cifar10/cifar-10-batches-bin")
    with pytest.raises(DataError, match=r"run python -m training data fetch image --replace-old$"):
        ImageTask().load()
    with pytest.raises(DataError, match=r"put a cifar10_gray_jpeg.npz of .* under cifar10/$"):
        ImageTask(source="jpeg").load()

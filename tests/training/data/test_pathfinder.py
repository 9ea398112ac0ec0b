"""PathFinder: text and array metadata, unreadable images named, the benchmark's level, values and classes."""

import numpy as np
import pytest
import torch
from PIL import Image

from tests.training.data.made import pathfinder
from training.data.pathfinder import PATHX, PathFinderTask, read_image, write_level
from training.data.pathfinder_generator import PathFinderLaw, _Scene, image, images
from training.data.pathfinder_metadata import read_metadata
from training.data.places import DataError, MissingDataError


@pytest.mark.parametrize("as_array", [False, True])
def test_metadata_are_read_as_text_and_as_an_array_and_in_the_order_of_numbers(as_array, data_folder):
    level = pathfinder(data_folder, as_array=as_array)
    entries = read_metadata(level)
    assert entries[0] == ("imgs/2/sample_0.png", 0)
    assert entries[6:8] == [("imgs/10/sample_0.png", 0), ("imgs/10/sample_1.png", 1)]
    assert len(PathFinderTask().load().train) == 10


def test_pixels_become_values_from_minus_one_to_one_and_classes_from_0_to_255(data_folder):
    pathfinder(data_folder)
    data = PathFinderTask().load()
    batch = data.train.batch(torch.arange(3))
    assert batch.targets.dtype == torch.int64
    torch.testing.assert_close(batch.tokens[..., 0], (batch.targets / 255 - 0.5) / 0.5, rtol=0, atol=1e-6)
    assert data.train.tokens.dtype == torch.uint8
    assert (data.classes, tuple(batch.tokens.shape)) == (2, (3, 1024, 1))


def test_the_split_is_80_10_10_by_torchs_random_split(data_folder):
    level = pathfinder(data_folder, images=40)
    data = PathFinderTask().load()
    order = torch.randperm(40, generator=torch.Generator().manual_seed(42)).tolist()
    entries = read_metadata(level)
    wanted = np.stack([read_image(level / entries[index][0], 32).reshape(-1, 1) for index in order[32:36]])
    np.testing.assert_array_equal(data.validation.tokens.numpy(), wanted)
    assert [len(data.train), len(data.validation), len(data.test)] == [32, 4, 4]


def test_only_the_longest_contours_are_the_benchmark(data_folder):
    pathfinder(data_folder, level="curv_baseline")
    with pytest.raises(MissingDataError, match="pathfinder32, level curv_contour_length_14"):
        PathFinderTask().load()
    assert len(PathFinderTask(contour_length=6).load().train) == 10


def test_an_empty_image_is_named_and_skipped_only_when_asked(real_data):
    with pytest.raises(DataError, match=r"sample_172.png is empty; .*skip"):
        PathFinderTask(contour_length=6).load()
    data = PathFinderTask(contour_length=6, skip_unreadable=True).load()
    assert data.provenance["skipped"] == ["imgs/0/sample_172.png"]
    assert len(data.train) + len(data.validation) + len(data.test) == 179


def test_the_real_level_has_its_labels(real_data):
    data = PathFinderTask().load()
    labels = [split.labels for split in (data.train, data.validation, data.test) if split.labels is not None]
    assert torch.cat(labels).bincount().tolist() == [654, 646]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("imgs/2 sample_0.png 0 2 1.0 14", "labels lie in 0..1: .*line 1 has '2'"),
        ("imgs/2 sample_0.png 0", "a metadata line names .*line 1 has 3 fields"),
        ("../imgs sample_0.png 0 1", "images lie inside their level: .*line 1"),
        ("/etc passwd 0 1", "images lie inside their level: .*line 1"),
        ("imgs/2 /etc/passwd 0 1", "images lie inside their level: .*line 1"),
        ("./imgs/2 sample_3.png 0 1", r"named once, .*2.npy, line 5 names imgs/2/sample_3.png again, after .*line 1"),
        ("imgs/2 sample_99.png 0 1", "sample_99.png is missing"),
    ],
)
def test_damaged_metadata_are_refused_by_file_and_line(line, sentence, data_folder):
    level = pathfinder(data_folder)
    path = level / "metadata/2.npy"
    path.write_text(line + "\n" + path.read_text())
    with pytest.raises(DataError, match=sentence):
        PathFinderTask().load()


def test_pickles_and_pictures_of_another_size_or_kind_are_refused(data_folder):
    level = pathfinder(data_folder)
    path = level / "metadata/2.npy"
    np.save(path, np.array([["imgs/2", {}]], dtype=object))
    with pytest.raises(DataError, match="pickles are never read"):
        read_metadata(level)
    path.write_bytes(b"\x80\x04N.")
    with pytest.raises(DataError, match="pickles are never read"):
        read_metadata(level)
    picture = level / "imgs/2/sample_0.png"
    with pytest.raises(DataError, match="images are 128 by 128"):
        read_image(picture, 128)
    picture.write_bytes(b"GIF?")
    with pytest.raises(DataError, match="is not an image"):
        read_image(picture, 32)
    Image.new("RGB", (32, 32), (10, 10, 10)).save(picture)
    assert read_image(picture, 32).max() == 10


def test_an_array_of_metadata_that_is_cut_off_is_not_called_a_pickle(data_folder):
    level = pathfinder(data_folder, as_array=True)
    path = level / "metadata/2.npy"
    content = path.read_bytes()
    for size in (len(content) - 100, 100, 9):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"a metadata array must be whole: .*2.npy is cut off"):
            read_metadata(level)


def test_an_image_named_in_two_files_is_refused(data_folder):
    level = pathfinder(data_folder)
    (level / "metadata/combined.npy").write_text((level / "metadata/2.npy").read_text())
    with pytest.raises(DataError, match=r"combined.npy, line 1 names imgs/2/sample_0.png again, after .*2.npy, line 1"):
        PathFinderTask().load()


@pytest.mark.parametrize(
    ("task", "remedy"),
    [
        (PathFinderTask(), "fetch pathfinder --allow-unknown-checksum, or use pathfinder-generated, which is made"),
        (PATHX, "fetch pathx --allow-unknown-checksum, or put curv_contour_length_14 of the release"),
        (PathFinderTask(contour_length=9), "put curv_contour_length_9 .* under pathfinder32/, or .* fetch pathfinder"),
        (PathFinderTask(size=64), "put curv_contour_length_14 of the release, with .* under pathfinder64/$"),
    ],
)
def test_a_level_that_is_not_there_says_what_to_put_where(task, remedy, data_folder):
    with pytest.raises(MissingDataError, match=remedy):
        task.find()
    (data_folder / "pathfinder32").mkdir()
    if task.size == 32:
        with pytest.raises(MissingDataError, match="--allow-unknown-checksum --replace-old, "):
            task.find()


def test_a_generated_level_written_as_the_release_loads_to_the_same_arrays(data_folder):
    law = PathFinderLaw(images=20, contour_length=6)
    write_level(law, data_folder / "pathfinder32/curv_baseline", per_file=15)
    read = PathFinderTask(contour_length=6).load()
    made = PathFinderTask(source="generated", images=20, contour_length=6).load()
    assert torch.equal(read.train.tokens, made.train.tokens)
    assert torch.equal(read.test.labels, made.test.labels)  # type: ignore[arg-type]


def test_image_number_i_depends_on_the_seed_and_i_alone():
    law = PathFinderLaw(images=3, contour_length=6)
    made = list(images(law))
    again, label = image(PathFinderLaw(images=100, contour_length=6), 2)
    np.testing.assert_array_equal(made[2][0], again)
    assert made[2][1] == label
    assert not np.array_equal(image(PathFinderLaw(contour_length=6, seed=1), 2)[0], again)


@pytest.mark.parametrize("size", [32, 128])
def test_label_1_means_that_both_dots_lie_on_one_curve(size, monkeypatch):
    made: list = []
    targets, dot = _Scene.targets, _Scene.dot

    def record_targets(scene, segments):
        found = targets(scene, segments)
        made.append([found, []])
        return found

    def record_dot(scene, centre):
        made[-1][1].append(centre)
        dot(scene, centre)

    monkeypatch.setattr(_Scene, "targets", record_targets)
    monkeypatch.setattr(_Scene, "dot", record_dot)
    labels = [label for _, label in images(PathFinderLaw(images=20, size=size, contour_length=6))]
    assert set(labels) == {0, 1}
    for label, (curves, (start, end)) in zip(labels, (row for row in made if row[0] is not None), strict=True):
        starts, ends = [curve.start for curve in curves], [curve.end for curve in curves]
        assert (starts.index(start) == ends.index(end)) == (label == 1)
        assert all(len(curve.strokes) == 6 for curve in curves)


def test_pathx_is_a_preset_of_16384_tokens_that_can_be_generated(data_folder):
    assert (PATHX.name, PATHX.size) == ("pathx", 128)
    data = PathFinderTask(source="generated", size=128, images=10, contour_length=6).load()
    assert tuple(data.train.tokens.shape) == (8, 16384, 1)
    with pytest.raises(DataError, match="a contour has 6, 9 or 14 segments"):
        PathFinderLaw(contour_length=10)

"""Prepared arrays are used only with the raw data that they were made from, wherever these lie now."""

import json
import os
import shutil

import pytest

from tests.training.data.made import LISTOPS_ROWS, imdb_archive, imdb_folder, listops, pathfinder, ucr
from training.__main__ import main
from training.data import raw_data
from training.data.listops import ListOpsTask
from training.data.pathfinder import PathFinderTask
from training.data.places import DataError
from training.data.prepared import RECORD, prepared_folder
from training.data.text import TextTask
from training.data.ucr import UcrTask

OTHER_ROWS = (("( ( ( [MIN 2 ) 9 ) ] )", 2), *LISTOPS_ROWS[1:])
TINY = TextTask(length=12, least_count=1)


@pytest.fixture
def rows(data_folder):
    """The training rows of a ListOps that was prepared."""
    listops(data_folder / "listops")
    ListOpsTask().load()
    return data_folder / "listops/basic_train.tsv"


@pytest.fixture
def unhashed(monkeypatch):
    """Fails where a source is hashed."""

    def never(path):
        raise AssertionError(f"{path} was hashed")

    return lambda: monkeypatch.setattr(raw_data, "file_sha256", never)


def record_of(task):
    return prepared_folder(task) / RECORD


def as_written_before(task, **changes):
    """The record without what was not noted before."""
    record = json.loads(record_of(task).read_text())
    for note in record["sources"].values():
        note.pop("modified_ns", None)
        note.update(changes)
    record_of(task).write_text(json.dumps(record))


def replace_in_place(path, old, new):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000))


@pytest.mark.parametrize("command", ["prepare", "check"])
def test_arrays_of_another_data_folder_are_refused_by_both_places(command, rows, tmp_path, monkeypatch, capsys):
    listops(tmp_path / "other/listops", rows=OTHER_ROWS)
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "other"))
    with pytest.raises(
        DataError, match=r"prepared from .*data/listops/basic_.* now .*other/listops/basic_.* another con"
    ):
        ListOpsTask().load()
    assert main(["data", command, "listops"]) == 2
    shown = capsys.readouterr().err
    assert f"delete {prepared_folder(ListOpsTask())} and prepare again" in shown
    assert shown.count("\n") == 1
    assert main(["data", "prepare", "listops", "--again"]) == 0
    assert ListOpsTask().load().train.labels.tolist() == [2, 2, 7]  # type: ignore[union-attr]


def test_a_copy_of_the_data_elsewhere_is_the_same_data(rows, tmp_path, monkeypatch):
    shutil.copytree(rows.parent, tmp_path / "other/lra_release/listops-1000")
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "other"))
    assert len(ListOpsTask().load().train) == 3
    (tmp_path / "other/lra_release/listops-1000/basic_val.tsv").unlink()
    with pytest.raises(DataError, match="holds no such file"):
        ListOpsTask().load()


def test_arrays_stay_good_where_raw_data_are_gone(rows, tmp_path, monkeypatch):
    (rows.parent / "basic_val.tsv").unlink()
    assert len(ListOpsTask().load().train) == 3
    shutil.rmtree(rows.parent)
    assert len(ListOpsTask().load().train) == 3
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "nothing"))
    assert len(ListOpsTask().load().train) == 3


def test_data_replaced_in_place_are_noticed_by_size_or_by_content(rows):
    replace_in_place(rows, b"\t2\r\n", b"\t3\r\n")
    with pytest.raises(DataError, match=r"basic_train.tsv, which has another content; delete .* and prepare again"):
        ListOpsTask().load()
    replace_in_place(rows, b"\t3\r\n", b"\t2\r\n")
    assert len(ListOpsTask().load().train) == 3
    replace_in_place(rows, b"\t2\r\n", b"\t22\r\n")
    with pytest.raises(DataError, match=r"basic_train.tsv, which has \d+ bytes, not \d+"):
        ListOpsTask().load()


def test_a_source_is_hashed_only_where_size_and_time_do_not_settle_it(rows, unhashed):
    unhashed()
    assert len(ListOpsTask().load().train) == 3
    os.utime(rows, ns=(0, 0))
    with pytest.raises(AssertionError, match=r"basic_train.tsv was hashed"):
        ListOpsTask().load()


def test_a_folder_reached_by_another_name_is_the_same_folder(rows, tmp_path, monkeypatch, unhashed):
    (tmp_path / "link").symlink_to(rows.parent.parent)
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "link"))
    unhashed()
    assert len(ListOpsTask().load().train) == 3
    note = json.loads(record_of(ListOpsTask()).read_text())["sources"]["basic_train.tsv"]
    assert note["path"] == str(rows.resolve())


def test_records_without_times_are_read_and_compared_by_size(rows, unhashed):
    as_written_before(ListOpsTask())
    unhashed()
    assert len(ListOpsTask().load().train) == 3
    replace_in_place(rows, b"\t2\r\n", b"\t22\r\n")
    with pytest.raises(DataError, match=r"which has \d+ bytes"):
        ListOpsTask().load()


@pytest.mark.parametrize("before", [False, True])
def test_metadata_of_a_level_that_changed_are_noticed(before, data_folder):
    level = pathfinder(data_folder)
    PathFinderTask().load()
    if before:
        as_written_before(PathFinderTask(), bytes=4096)
    assert len(PathFinderTask().load().train) == 10
    replace_in_place(level / "metadata/10.npy", b"sample_0.png 0 0", b"sample_0.png 0 1")
    with pytest.raises(DataError, match=r"curv_contour_length_14, which holds other files"):
        PathFinderTask().load()


def test_unpacked_reviews_that_changed_are_noticed_by_names_and_sizes(data_folder):
    imdb_folder(data_folder)
    TINY.load()
    folder = data_folder / "imdb/aclImdb"
    (folder / "train/unsup/0_0.txt").unlink()
    assert len(TINY.load().train) == 10
    (folder / "test/pos/0_9.txt").rename(folder / "test/pos/9_9.txt")
    with pytest.raises(DataError, match=r"aclImdb, which holds other files"):
        TINY.load()
    as_written_before(TINY, sha256="20 reviews", bytes=4096)
    assert len(TINY.load().train) == 10


def test_reviews_prepared_from_the_archive_are_not_those_of_the_folder(data_folder):
    imdb_archive(data_folder / "imdb/aclImdb_v1.tar.gz")
    TINY.load()
    imdb_folder(data_folder)
    with pytest.raises(DataError, match=r"from .*aclImdb_v1.tar.gz, but the data are now .*/aclImdb, which holds no"):
        TINY.load()


def test_a_test_file_in_another_layout_than_train_is_at_its_place(data_folder):
    ucr(data_folder)
    ucr(data_folder, ts=True)
    (data_folder / "ucr/UCRArchive_2018/Toy/Toy_TEST.tsv").unlink()
    (data_folder / "ucr/Univariate_ts/Toy/Toy_TRAIN.ts").unlink()
    UcrTask("Toy").load()
    assert len(UcrTask("Toy").load().test) == 5
    replace_in_place(data_folder / "ucr/Univariate_ts/Toy/Toy_TEST.ts", b"1,2,3,4", b"1,2,3,9")
    with pytest.raises(DataError, match=r"Toy_TEST.ts, which has another content"):
        UcrTask("Toy").load()

"""python -m training data: what is there, what is wrong and the fix, in one sentence and exit code 2."""

import shlex
import tarfile

import numpy as np
import pytest

from tests.training.data.made import LISTOPS_ROWS, aan, grey_npz, imdb_folder, listops, pathfinder, ucr
from training.__main__ import main
from training.data.catalogue import entries, fetch_command, find_entry
from training.data.listops import ListOpsTask
from training.data.places import DataError
from training.data.prepared import RECORD, prepared_folder


def test_every_set_is_listed_with_what_is_there_and_how_to_get_it(data_folder, capsys):
    listops(data_folder / "listops")
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    for entry in entries():
        assert entry.name in shown
    assert "fetch image (162 MB)" in " ".join(shown.split())
    assert str(data_folder) in shown


def test_check_says_what_is_right_what_is_missing_and_what_is_wrong(data_folder, capsys):
    listops(data_folder / "listops")
    pathfinder(data_folder, level="curv_baseline")
    (data_folder / "pathfinder32/curv_baseline/imgs/2/sample_3.png").write_bytes(b"")
    assert main(["data", "check", "listops"]) == 0
    shown = capsys.readouterr().out
    assert "listops train: 3 of [6], labels {2: 1, 7: 1, 9: 1}" in shown
    assert "right, but not the whole release, which has 96,000 / 2,000 / 2,000" in shown
    assert main(["data", "check", "retrieval"]) == 2
    assert "run python -m training data fetch retrieval" in capsys.readouterr().err
    assert main(["data", "check"]) == 2
    shown = capsys.readouterr().out
    assert "retrieval: missing: " in shown
    assert "pathfinder-6: wrong: an image must be readable" in shown
    assert main(["data", "check", "pathfinder-6", "--skip-unreadable"]) == 0
    assert "1 unreadable images skipped: imgs/2/sample_3.png" in capsys.readouterr().out
    assert not list(data_folder.parent.glob("prepared/*"))


def test_check_of_an_empty_folder_is_no_error(data_folder, capsys):
    assert main(["data", "check"]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_prepare_writes_once_and_again_when_told(data_folder, capsys):
    listops(data_folder / "listops")
    record = prepared_folder(ListOpsTask()) / RECORD
    assert main(["data", "prepare", "listops"]) == 0
    first = record.stat().st_mtime_ns
    assert main(["data", "prepare", "listops"]) == 0
    assert record.stat().st_mtime_ns == first
    assert main(["data", "prepare", "listops", "--again"]) == 0
    assert record.stat().st_mtime_ns > first
    assert str(record.parent) in capsys.readouterr().out


def test_generate_writes_the_layout_of_the_release_whole_and_never_over_something(data_folder, capsys, monkeypatch):
    small = ["--train", "8", "--validation", "2", "--test", "2"]
    assert main(["data", "generate", "listops", *small]) == 0
    assert main(["data", "generate", "pathfinder", "--images", "10", "--contour-length", "6"]) == 0
    made = data_folder / "generated"
    assert sorted(path.name for path in made.iterdir()) == ["listops-1000", "pathfinder32"]
    assert main(["data", "generate", "listops", *small]) == 2
    assert "a set is generated where nothing is" in capsys.readouterr().err
    monkeypatch.setenv("SPT_DATA", str(made))
    assert main(["data", "check", "listops", "pathfinder-6"]) == 0
    assert "listops train: 8 of" in capsys.readouterr().out


def test_what_was_generated_is_read_as_said(data_folder, capsys, monkeypatch):
    monkeypatch.chdir(data_folder)
    assert main(["data", "generate", "pathfinder", "--images", "10", "--contour-length", "9", "--to", "a b"]) == 0
    shown = capsys.readouterr().out
    assert "the task pathfinder-generated makes its own set" in shown
    assignment, *command = shlex.split(shown.splitlines()[1].removeprefix("to read it: "))
    assert command == ["python", "-m", "training", "data", "check", "pathfinder-9"]
    monkeypatch.setenv(*assignment.split("=", 1))
    assert main(command[3:]) == 0


def test_a_place_that_cannot_be_written_is_one_sentence_and_code_2(data_folder, capsys, monkeypatch):
    (data_folder / "file").write_text("")
    small = ["data", "generate", "pathfinder", "--images", "2", "--contour-length", "6", "--to"]
    assert main([*small, str(data_folder / "file")]) == 2
    shown = capsys.readouterr().err
    assert "a set needs a folder that can be written: " in shown
    assert "name another folder with --to" in shown
    assert shown.count("\n") == 1

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("PIL.Image.Image.save", full)
    assert main([*small, str(data_folder / "made")]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert not list((data_folder / "made/pathfinder32").iterdir())


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("fetch", "interrupted; say the same command again to go on\n"),
        ("check", "interrupted; nothing half-written is left\n"),
    ],
)
def test_an_interruption_says_what_is_left(command, sentence, data_folder, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("training.data_command.find_entry", stop)
    assert main(["data", command, "image"]) == 130
    assert capsys.readouterr().err == sentence


def test_every_command_that_is_named_to_fetch_a_release_is_one_that_is_not_refused(data_folder, monkeypatch, capsys):
    """What ``list``, ``fetch_command`` and a missing set say runs up to the download."""
    asked = []

    def download(url, folder, checksum, *, allow_unknown, **_):
        assert checksum is not None or allow_unknown
        asked.append(url)
        raise DataError("no connection")

    monkeypatch.setattr("training.data_command.download", download)
    for entry in (entry for entry in entries() if entry.release is not None):
        with pytest.raises(DataError, match="must be under the data folder") as missing:
            entry.task.find()
        command = fetch_command(entry.name)
        assert f"run {command}" in str(missing.value)
        assert main(shlex.split(command)[3:]) == 2
    assert len(asked) == sum(entry.release is not None for entry in entries())
    capsys.readouterr()
    assert main(["data", "list"]) == 0
    assert capsys.readouterr().out.count("--allow-unknown-checksum") == sum(
        entry.release is not None and entry.release.checksum is None for entry in entries()
    )


def test_a_generation_that_is_interrupted_leaves_nothing(data_folder, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("training.data.listops_generator.with_parentheses", stop)
    assert main(["data", "generate", "listops"]) == 130
    assert not list((data_folder / "generated").iterdir())


def test_ucr_sets_are_found_by_any_name(data_folder):
    assert find_entry("gunpoint").name == find_entry("ucr:GunPoint").name == "ucr:GunPoint"
    ucr(data_folder, "Coffee")
    assert main(["data", "check", "ucr:Coffee"]) == 0
    with pytest.raises(DataError, match="unknown data set: 'coffe'; use one of listops, "):
        find_entry("coffe")


def bad_line(folder):
    listops(folder / "listops")
    path = folder / "listops/basic_train.tsv"
    path.write_bytes(path.read_bytes().removesuffix(b"\t7\r\n"))


def bad_label(folder):
    listops(folder / "listops", rows=(("1", 12),))


def bad_columns(folder):
    listops(folder / "listops", header="Source\tValue")


def bad_symbol(folder):
    listops(folder / "listops", rows=(("[XOR 1 2 ]", 1),))


def bad_pickle(folder):
    grey_npz(folder / "cifar10", y_train=np.array([{}] * 60, dtype=object))


def bad_image(folder):
    pathfinder(folder)
    (folder / "pathfinder32/curv_contour_length_14/imgs/10/sample_1.png").write_bytes(b"\x89PNG\r\n")


def bad_archive(folder):
    (folder / "imdb").mkdir()
    with tarfile.open(folder / "imdb/aclImdb_v1.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("aclImdb/train/pos/1_9.txt"))


def bad_table(folder):
    aan(folder / "aan", rows=(("1", "a", "b", "c"),))


def bad_series(folder):
    ucr(folder, "GunPoint", train=[("1", "1 2 3"), ("2", "1 2")])


@pytest.mark.parametrize(
    ("damage", "name", "value", "remedy"),
    [
        (bad_line, "listops", "line 4 has 1", "get the file again"),
        (bad_label, "listops", "'12'", "get the file again"),
        (bad_columns, "listops", "no 'Target'", "add the header"),
        (bad_symbol, "listops", "'[XOR'", "correct the file"),
        (bad_pickle, "image-jpeg", "pickles are never read, they can run code", "put a cifar10_gray_jpeg.npz"),
        (bad_image, "pathfinder", "imgs/10/sample_1.png", "--skip-unreadable"),
        (bad_archive, "text", "lacks reviews", "data fetch text"),
        (bad_table, "retrieval", "line 1 has 4", "get the file again"),
        (bad_series, "gunpoint", "line 2 has 2", "get the file again"),
    ],
)
@pytest.mark.parametrize("command", ["check", "prepare"])
def test_bad_data_are_one_sentence_with_value_and_remedy_and_code_2(
    command, damage, name, value, remedy, data_folder, capsys
):
    damage(data_folder)
    assert main(["data", command, name]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert shown.count("\n") == 1
    assert value in shown
    assert remedy in shown
    assert not list(data_folder.parent.glob("prepared/*"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fetch"], "name at least one data set"),
        (["fetch", "image-jpeg"], "image-jpeg has none of its own; put cifar10_gray_jpeg.npz under cifar10/"),
        (["fetch", "pathfinder-9"], "has none of its own; put curv_contour_length_9 of pathfinder's release under"),
        (["fetch", "listops-short"], "has none of its own; nothing to do, it is made here"),
        (["fetch", "retrieval"], "--allow-unknown-checksum"),
        (["check", "listop"], "unknown data set: 'listop'"),
        (["generate", "listops", "--train", "0"], "every split needs rows"),
        (["generate", "listops", "--images", "5"], "--images is none of listops; use --train, --validation, --test"),
        (["generate", "pathfinder", "--test", "5"], "--test is none of pathfinder; use --images, --contour-length"),
        (["generate", "pathfinder", "--contour-length", "7"], "a contour has 6, 9 or 14 segments"),
    ],
)
def test_bad_arguments_are_one_sentence_and_code_2(arguments, sentence, data_folder, capsys):
    assert main(["data", *arguments]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown


def test_all_layouts_together_pass_the_check(data_folder, capsys):
    listops(data_folder / "listops/listops-1000", end="\n", rows=LISTOPS_ROWS)
    aan(data_folder / "aan")
    imdb_folder(data_folder, repeat=20)
    pathfinder(data_folder)
    ucr(data_folder, "ECG200", ts=True)
    assert main(["data", "check"]) == 0
    assert "text train: 40 of" in capsys.readouterr().out

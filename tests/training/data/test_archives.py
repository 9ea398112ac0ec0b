"""Archives: what leads outside, links or is a device is refused, and nothing is left behind."""

import io
import tarfile
import zipfile

import pytest

from training.data.archives import unpacked
from training.data.places import DataError


def tar(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, kind in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, 3 if kind == tarfile.REGTYPE else 0
            info.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            archive.addfile(info, io.BytesIO(b"abc") if kind == tarfile.REGTYPE else None)


GOOD = [("a", tarfile.DIRTYPE), ("a/b/c.txt", tarfile.REGTYPE), ("./d.txt", tarfile.REGTYPE)]


def refuses(archive, folder, sentence):
    with pytest.raises(DataError, match=sentence), unpacked(archive, folder):
        pass
    assert not folder.exists() or not list(folder.iterdir())


@pytest.mark.parametrize("mode", ["w:gz", "w"])
def test_files_of_a_tar_come_out_and_the_folder_goes_away(mode, tmp_path):
    tar(tmp_path / "x.tar", GOOD, mode)
    with unpacked(tmp_path / "x.tar", tmp_path / "out") as folder:
        assert (folder / "a/b/c.txt").read_bytes() == (folder / "d.txt").read_bytes() == b"abc"
    assert not list((tmp_path / "out").iterdir())


def test_only_the_wanted_folder_comes_out_of_a_large_archive(tmp_path):
    members = [("x/x/listops-1000/t.tsv", tarfile.REGTYPE), ("x/x/pathfinder32/1.png", tarfile.REGTYPE)]
    tar(tmp_path / "x.tar", members)
    with unpacked(tmp_path / "x.tar", tmp_path / "out", "listops-1000") as folder:
        assert [path.name for path in folder.rglob("*") if path.is_file()] == ["t.tsv"]


@pytest.mark.parametrize(
    ("name", "kind", "sentence"),
    [
        ("/etc/cron.d/x", tarfile.REGTYPE, "an absolute path"),
        ("a/../../x", tarfile.REGTYPE, "a path to a parent folder"),
        ("..", tarfile.DIRTYPE, "a path to a parent folder"),
        ("a\\..\\x", tarfile.REGTYPE, "a path of another system"),
        ("C:/x", tarfile.REGTYPE, "a path of another system"),
        ("link", tarfile.SYMTYPE, "a link or device"),
        ("link", tarfile.LNKTYPE, "a link or device"),
        ("pipe", tarfile.FIFOTYPE, "a link or device"),
        ("disk", tarfile.BLKTYPE, "a link or device"),
    ],
)
def test_tar_members_that_lead_elsewhere_are_refused(name, kind, sentence, tmp_path):
    tar(tmp_path / "x.tar.gz", [*GOOD, (name, kind)])
    refuses(tmp_path / "x.tar.gz", tmp_path / "out", sentence)


@pytest.mark.parametrize(
    ("name", "sentence"), [("/x", "an absolute path"), ("../x", "parent folder"), ("a/../../x", "parent folder")]
)
def test_zip_members_that_lead_elsewhere_are_refused(name, sentence, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("good.txt", "abc")
        archive.writestr(zipfile.ZipInfo(name), "abc")
    refuses(tmp_path / "x.zip", tmp_path / "out", sentence)


def test_zip_links_are_refused_and_files_come_out(tmp_path):
    with zipfile.ZipFile(tmp_path / "good.zip", "w") as archive:
        archive.writestr("a/b.txt", "abc")
    with unpacked(tmp_path / "good.zip", tmp_path / "out") as folder:
        assert (folder / "a/b.txt").read_text() == "abc"
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    refuses(tmp_path / "x.zip", tmp_path / "out", "a link or device")


def test_archives_cut_off_damaged_or_too_large_are_refused(tmp_path):
    path = tmp_path / "x.tar.gz"
    tar(path, GOOD)
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    refuses(path, tmp_path / "out", "an archive must be whole")
    path.write_bytes(content[:-8] + bytes(8))
    refuses(path, tmp_path / "out", "an archive must be whole")
    path.write_bytes(b"no archive at all")
    refuses(path, tmp_path / "out", "an archive must be whole")
    path.write_bytes(content)
    with pytest.raises(DataError, match="unpacks to at most 5 bytes"), unpacked(path, tmp_path / "out", largest=5):
        pass
    assert not list((tmp_path / "out").iterdir())

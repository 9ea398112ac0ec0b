"""Downloads from a local server: resumed, checked, refused without a checksum; no other host is ever asked."""

import hashlib
import http.server
import io
import tarfile
import threading
from dataclasses import replace

import pytest

from tests.training.data.made import reviews, ucr
from training.__main__ import main
from training.data import catalogue
from training.data.download import download
from training.data.places import DataError

CONTENT = bytes(range(256)) * 4000
CHECKSUM = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves ``files``; cuts an answer off after ``cut`` bytes as often as ``cuts`` says."""

    files: dict[str, bytes]
    cut, cuts, ranges, tag = 300_000, 0, True, '"one"'


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        content = self.server.files.get(self.path)
        self.server.asked.append(self.headers.get("Range"))  # type: ignore[attr-defined]
        if content is None:
            self.send_error(404)
            return
        start = 0
        asked = self.headers.get("Range")
        if asked and self.server.ranges and self.headers.get("If-Range", self.server.tag) == self.server.tag:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("ETag", self.server.tag)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if self.server.cuts:
            self.server.cuts -= 1
            self.wfile.write(content[start : start + self.server.cut])
        else:
            self.wfile.write(content[start:])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked = {"/x.bin": CONTENT}, []  # type: ignore[attr-defined]
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def url(server, name="x.bin"):
    return f"http://127.0.0.1:{server.server_port}/{name}"


def test_a_whole_download_is_kept_and_not_asked_for_again(server, tmp_path):
    seen = []
    path = download(url(server), tmp_path, CHECKSUM, progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    download(url(server), tmp_path, CHECKSUM)
    assert server.asked == [None]
    assert [path.name for path in tmp_path.iterdir()] == ["x.bin"]


def test_a_connection_that_breaks_is_taken_up_where_it_stopped(server, tmp_path):
    server.cuts = 2
    assert download(url(server), tmp_path, CHECKSUM).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=300000-", "bytes=600000-"]


def test_a_download_that_keeps_breaking_says_how_far_it_came_and_the_next_call_goes_on(server, tmp_path):
    server.cuts = 3
    with pytest.raises(DataError, match=r"stopped at 900000 bytes .* say the same command again"):
        download(url(server), tmp_path, CHECKSUM)
    assert download(url(server), tmp_path, CHECKSUM).read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=900000-"


def test_without_a_connection_the_host_is_named(server, tmp_path):
    with pytest.raises(
        DataError, match=r"a download needs its host: nowhere.invalid cannot be reached \(.*; connect to"
    ):
        download("http://nowhere.invalid/x.bin", tmp_path, CHECKSUM)
    server.cuts, server.cut = 3, 0
    with pytest.raises(DataError, match=r"127.0.0.1:\d+ cannot be reached"):
        download(url(server), tmp_path, CHECKSUM)


def test_a_server_without_ranges_or_with_a_new_version_is_read_from_the_start(server, tmp_path):
    server.cuts, server.ranges = 1, False
    assert download(url(server), tmp_path / "a", CHECKSUM).read_bytes() == CONTENT
    server.ranges, server.cuts = True, 3
    with pytest.raises(DataError):
        download(url(server), tmp_path / "b", CHECKSUM)
    server.tag, server.files["/x.bin"] = '"two"', CONTENT[::-1]
    found = download(url(server), tmp_path / "b", "sha256:" + hashlib.sha256(CONTENT[::-1]).hexdigest())
    assert found.read_bytes() == CONTENT[::-1]


def test_leftovers_longer_than_the_file_are_dropped(server, tmp_path):
    (tmp_path / "x.bin.part").write_bytes(CONTENT + b"more")
    assert download(url(server), tmp_path, CHECKSUM).read_bytes() == CONTENT


def test_another_checksum_is_refused_and_dropped(server, tmp_path):
    with pytest.raises(DataError, match="must have its known checksum md5:0"):
        download(url(server), tmp_path, "md5:" + "0" * 32)
    assert not list(tmp_path.iterdir())


def test_without_a_known_checksum_nothing_is_asked_for_unless_allowed(server, tmp_path):
    with pytest.raises(DataError, match="--allow-unknown-checksum"):
        download(url(server), tmp_path, None)
    assert server.asked == []
    assert download(url(server), tmp_path, None, allow_unknown=True).read_bytes() == CONTENT


def test_what_is_not_there_and_other_schemes_are_one_sentence(server, tmp_path):
    with pytest.raises(DataError, match="answers 404"):
        download(url(server, "y.bin"), tmp_path, CHECKSUM)
    with pytest.raises(DataError, match="downloads come by http or https"):
        download("file:///etc/passwd", tmp_path, CHECKSUM)


def serve(monkeypatch, name, **changes):
    known = catalogue.entries()
    place = next(index for index, entry in enumerate(known) if entry.name == name)
    release = known[place].release
    assert release is not None
    known[place] = replace(known[place], release=replace(release, **changes))
    monkeypatch.setattr(catalogue, "entries", lambda: known)


def packed(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_fetch_downloads_unpacks_and_what_it_fetched_passes_the_check(server, data_folder, monkeypatch, capsys):
    content = packed(reviews())
    server.files["/aclImdb_v1.tar.gz"] = content
    checksum = "md5:" + hashlib.md5(content, usedforsecurity=False).hexdigest()
    serve(monkeypatch, "text", url=url(server, "aclImdb_v1.tar.gz"), checksum=checksum)
    assert main(["data", "fetch", "text"]) == 0
    assert (data_folder / "imdb/aclImdb/train/pos/0_9.txt").is_file()
    assert main(["data", "check", "text"]) == 0
    assert main(["data", "fetch", "text"]) == 2
    assert "a release goes where nothing is" in capsys.readouterr().err
    assert main(["data", "fetch", "text", "--replace-old"]) == 0


def test_fetch_prints_the_checksum_that_it_did_not_know_and_refuses_a_bad_archive(
    server, data_folder, monkeypatch, capsys, tmp_path
):
    ucr(tmp_path, "GunPoint", ts=True)
    folder = tmp_path / "ucr/Univariate_ts/GunPoint"
    server.files["/GunPoint.zip"] = packed({path.name: path.read_text() for path in folder.iterdir()})
    serve(monkeypatch, "ucr:GunPoint", url=url(server, "GunPoint.zip"))
    assert main(["data", "fetch", "gunpoint"]) == 2
    assert main(["data", "fetch", "gunpoint", "--allow-unknown-checksum"]) == 0
    digest = hashlib.sha256(server.files["/GunPoint.zip"]).hexdigest()
    assert f"unknown checksum: GunPoint.zip has sha256:{digest}" in capsys.readouterr().out
    assert main(["data", "check", "gunpoint"]) == 0
    server.files["/GunPoint.zip"] = packed({"../../evil.txt": "x"})
    (data_folder / "downloads/GunPoint.zip").unlink()
    assert main(["data", "fetch", "gunpoint", "--allow-unknown-checksum", "--replace-old"]) == 2
    assert "a path to a parent folder" in capsys.readouterr().err
    assert main(["data", "check", "gunpoint"]) == 0

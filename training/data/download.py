"""Downloads: resumed where they stopped, checked against a known checksum (pooch), refused without one unless asked."""

from __future__ import annotations

import logging
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pooch

from training.data.places import DataError

_BLOCK, _SECONDS, _ATTEMPTS = 1 << 18, 60, 3
#: Called with the bytes that are there and the bytes in all (0 where the server does not say).
Progress = Callable[[int, int], None]


def download(
    url: str,
    folder: Path,
    checksum: str | None,
    *,
    allow_unknown: bool = False,
    progress: Progress = lambda done, total: None,
) -> Path:
    """The file of a URL in ``folder``; ``checksum`` is ``sha256:...`` or ``md5:...``, None where none is known."""
    if not url.startswith(("http://", "https://")):
        raise DataError(f"downloads come by http or https: {url}; put the file into the data folder by hand")
    if checksum is None and not allow_unknown:
        raise DataError(
            f"a download needs a known checksum: none is known for {url}; say --allow-unknown-checksum to trust the "
            "server this once (the SHA-256 is printed), or put the data into the data folder by hand"
        )
    name = url.rsplit("/", 1)[-1]
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = pooch.retrieve(url, checksum, fname=name, path=folder, downloader=_Resuming(folder / name, progress))
    except DataError:
        raise
    except ValueError as error:
        raise DataError(
            f"a download must have its known checksum {checksum}: {url} has another ({error.__class__.__name__}); "
            "it was dropped, fetch it again, and report it if that does not help"
        ) from None
    return Path(found)


class _Resuming:
    """Downloads to ``<name>.part`` beside the target and goes on from what is there."""

    def __init__(self, target: Path, progress: Progress) -> None:
        self.part = target.with_name(f"{target.name}.part")
        self.tag = target.with_name(f"{target.name}.part.tag")
        self.progress = progress

    def __call__(self, url: str, output: str, pooch: Any, check_only: bool = False) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                self._fetch(url)
                break
            except urllib.error.HTTPError as error:
                if error.code == 416:  # what is there is not the beginning of what the server has
                    self.part.unlink(missing_ok=True)
                if error.code != 416 or attempt + 1 == _ATTEMPTS:
                    raise DataError(
                        f"a download must be there: {url} answers {error.code} {error.reason}; try later, or put the "
                        "data into the data folder by hand"
                    ) from None
            except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
                if attempt + 1 == _ATTEMPTS:
                    there = self.part.stat().st_size if self.part.exists() else 0
                    reason = getattr(error, "reason", None) or error
                    if not there:
                        raise DataError(
                            f"a download needs its host: {urlsplit(url).netloc} cannot be reached ({reason}); connect "
                            "to the network and say the same command again, or put the data into the data folder by "
                            "hand"
                        ) from None
                    raise DataError(
                        f"a download must arrive whole: {url} stopped at {there} bytes ({reason}); say the same "
                        "command again to go on from there"
                    ) from None
        os.replace(self.part, output)
        self.tag.unlink(missing_ok=True)

    def _fetch(self, url: str) -> None:
        there = self.part.stat().st_size if self.part.exists() else 0
        request = urllib.request.Request(url, headers={"User-Agent": "attention-blindness"})
        if there:
            request.add_header("Range", f"bytes={there}-")
            if self.tag.exists():
                request.add_header("If-Range", self.tag.read_text())
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {there}-")
            there = there if resumed else 0
            total = there + int(answer.headers.get("Content-Length") or 0)
            if tag := answer.headers.get("ETag"):
                self.tag.write_text(tag)
            with self.part.open("ab" if resumed else "wb") as file:
                while block := answer.read(_BLOCK):
                    file.write(block)
                    there += len(block)
                    self.progress(there, total)
        if there < total:
            raise ConnectionError(f"{there} of {total} bytes")

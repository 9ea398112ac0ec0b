"""What a figure is drawn from: files, each with the command that gets it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A file that a figure is drawn from.

    Attributes:
        sentence: what it is.
        path: where it must lie.
        command: what a reader types to get it.
    """

    sentence: str
    path: Path
    command: str

    @property
    def present(self) -> bool:
        """Whether the file is on disk."""
        return self.path.is_file()

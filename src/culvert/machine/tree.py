"""Reading /proc and /sys, where any file may be absent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Tree:
    """A file tree; its root is / except in tests."""

    root: Path = Path("/")

    def path(self, path: str) -> Path:
        """An absolute path inside this tree."""
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str | None:
        """The stripped text of a file; None if it is absent, unreadable or empty."""
        try:
            return self.path(path).read_text(errors="replace").strip("\0\n\t ") or None
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """The integer that a file holds, or None."""
        return integer(self.text(path))

    def names(self, path: str) -> list[str]:
        """Sorted names in a folder; empty if there is none."""
        try:
            return sorted(entry.name for entry in self.path(path).iterdir())
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        """Whether the path exists."""
        try:
            return self.path(path).exists()
        except OSError:
            return False


def integer(text: str | None) -> int | None:
    """The decimal integer in ``text``, or None if it is not one."""
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def chosen(text: str | None) -> str | None:
    """The marked word of ``always [madvise] never`` or ``none (voluntary) full``; a single word is
    the choice itself."""
    marked = re.search(r"[\[(](\S+)[\])]", text or "")
    if marked:
        return marked[1]
    return text if text and " " not in text else None

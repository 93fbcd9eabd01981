"""Reading /proc and /sys, where any file may be absent."""

from __future__ import annotations

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


def integers(text: str | None) -> tuple[int, ...] | None:
    """Integers separated by white space (as in tcp_rmem), or None if one is not an integer."""
    if text is None:
        return None
    values = [integer(word) for word in text.split()]
    found = tuple(value for value in values if value is not None)
    return found if found and len(found) == len(values) else None


def chosen(text: str | None) -> str | None:
    """The marked word of ``always [madvise] never``; a single word is the choice itself."""
    if text is None:
        return None
    words = text.split()
    marked = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    if len(marked) == 1:
        return marked[0] or None
    return words[0] if len(words) == 1 and not marked else None

"""Names that come from a stranger's file: nothing else of it becomes a part of a path."""

from __future__ import annotations

from pathlib import PurePosixPath


def slug(text: str) -> str:
    """A part of a file name: ASCII letters, digits and dashes, never empty."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60].rstrip("-") or "unnamed"


def is_inside(name: str) -> bool:
    """Whether the path of a file in a folder stays inside of it, and is written in one way only."""
    path = PurePosixPath(name)
    return (
        name == str(path)
        and not path.is_absolute()
        and ".." not in path.parts
        and name not in ("", ".")
        and "\\" not in name
        and name.isprintable()
    )

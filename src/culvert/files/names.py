"""Names that come from a stranger's file: nothing else of it becomes a part of a path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import PurePosixPath


def slug(text: str) -> str:
    """A part of a file name: ASCII letters, digits and dashes, never empty."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60].rstrip("-") or "unnamed"


def slugs(names: Iterable[str]) -> dict[str, str]:
    """A slug for each name, none twice: of names that have the same, only one that is its own slug
    keeps it, the others end in a hash of the name. Slugs have no capitals, so they differ on file
    systems that ignore case too."""
    made = {name: slug(name) for name in names}
    shared = Counter(made.values())
    return {
        # Two dashes are in no slug, so that no other name can be written to have this one.
        name: f"{short}--{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
        if shared[short] > 1 and name != short
        else short
        for name, short in made.items()
    }


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

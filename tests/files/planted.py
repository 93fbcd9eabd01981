"""What a stranger puts where a file is expected."""

from __future__ import annotations

import os
from pathlib import Path


def plant(path: Path, kind: str, victim: Path) -> None:
    """A link to the victim, or a special file."""
    path.parent.mkdir(exist_ok=True)
    match kind:
        case "symbolic":
            path.symlink_to(victim)
        case "pipe":
            os.mkfifo(path)
        case "zero":
            path.symlink_to("/dev/zero")
        case "directory":
            path.mkdir()
        case "dangling":
            path.symlink_to(path.parent / "nowhere")
        case _:
            raise ValueError(kind)

"""Flame graphs of a run that was profiled: where the CPU time of a trial went."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

FOLDER = "profiles"
"""Of the run's directory: SVG files, and the stacks from which they were drawn."""
_MOST = 64
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Profile:
    """A picture; its title is in it. ``difference``: between two VPNs."""

    name: str
    source: str
    difference: bool


def profiles(directory: Path) -> tuple[Profile, ...]:
    """The pictures beside a journal, differences first. A page shows an image as an image: no
    script in it runs."""
    files = [
        path
        for path in sorted((directory / FOLDER).glob("*.svg"))
        if path.is_file() and path.stat().st_size <= _MOST_BYTES
    ][:_MOST]
    found = [
        Profile(
            path.stem,
            f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}",
            path.stem.count("--") > 1,
        )
        for path in files
    ]
    return tuple(sorted(found, key=lambda one: not one.difference))

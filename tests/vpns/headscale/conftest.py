"""What Tailscale would change on this machine if it were not confined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

OUTSIDE = ("/etc/resolv.conf", "/var/lib/tailscale", "/etc/ssh", "/etc/default", "/run/tailscale")
"""It writes there by default."""


@pytest.fixture
def outside() -> Iterator[None]:
    """Nothing of this machine changes."""
    before = {place: listing(Path(place)) for place in (*OUTSIDE, str(Path.home() / ".ssh"))}
    yield
    assert {place: listing(Path(place)) for place in before} == before


def listing(place: Path) -> list[tuple[str, int, int]]:
    """Paths there with their sizes and times; empty if there are none."""
    files = [place, *sorted(place.rglob("*"))] if place.is_dir() else [place]
    found = [(str(file), file.stat()) for file in files if file.exists()]
    return [(name, state.st_size, state.st_mtime_ns) for name, state in found]

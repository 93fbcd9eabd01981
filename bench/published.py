"""Where the published data of kjorveziroski2024 is, for those who have it."""

from __future__ import annotations

from pathlib import Path

from culvert.errors import NotPossible

DATA = Path(__file__).parents[2] / "shared" / "data" / "kjorveziroski2024"
"""Beside the checkout; it is not ours to ship."""


def published(name: str) -> Path:
    """A file of the data. Raises NotPossible where it is missing."""
    path = DATA / name
    if not path.exists():
        raise NotPossible(
            name,
            f"the data of kjorveziroski2024 is not in {DATA}",
            "get it from github.com/korvoj/vpn-performance",
        )
    return path

"""Short versions; the environment section has the full ones."""

from __future__ import annotations

import re

_PSEUDO = re.compile(r"(v\d+\.\d+\.\d+-(?:[\w.]+\.)?\d{8})\d{6}-[0-9a-f]{12}\b.*")
"""Go's pseudo-versions (https://go.dev/ref/mod#pseudo-versions): base, UTC time, commit."""


def short_version(version: str) -> str:
    """``2.6.14, package 2.6.14-0+deb12u2`` as ``2.6.14``; a Go pseudo-version up to its date."""
    return _PSEUDO.sub(r"\1", version.partition(",")[0].strip())

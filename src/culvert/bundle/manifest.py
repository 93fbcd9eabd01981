"""MANIFEST: the SHA-256 sum of every file of a bundle, sorted by name.

Lines are as ``sha256sum`` writes and checks them (``sha256sum -c MANIFEST``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from culvert.files.names import is_inside

NAME = "MANIFEST"
MOST_BYTES = 1 << 22
"""A manifest has a few lines; Culvert writes none above 4 MiB."""

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def write(sums: Mapping[str, str]) -> bytes:
    """The manifest of these files: name -> SHA-256 in hex."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()


def read(content: bytes) -> dict[str, str]:
    """Name -> SHA-256. Raises ValueError with the reason if Culvert did not write it."""
    try:
        lines = content.decode().split("\n")[:-1]
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    sums: dict[str, str] = {}
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None or not is_inside(found[2]) or found[2] == NAME:
            raise ValueError("it has a line that Culvert does not write")
        sums[found[2]] = found[1]
    if not sums or write(sums) != content:
        raise ValueError("a line is missing, there twice or not in its place")
    return sums


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Differences from the manifest, one sentence each."""
    listed = []
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            listed.append(f"{name} is missing")
        elif name not in expected:
            listed.append(f"{name} was added")
        elif expected[name] != found[name]:
            listed.append(f"{name} was changed")
    return listed

"""What iproute2's programs print with ``-j``: another machine's may print anything."""

from __future__ import annotations

from typing import Any

from culvert.errors import LabError
from culvert.json_text import read_json


def entries(text: str, node: str) -> list[dict[str, Any]]:
    """A list of objects; empty if nothing was printed. Raises LabError."""
    try:
        found = read_json(text.strip() or "[]")
    except ValueError:
        found = None
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return found
    raise LabError(
        f"host {node}",
        "its ip or tc cannot print JSON",
        "install iproute2 of 2018 or later on the host; BusyBox's ip cannot print JSON",
    )

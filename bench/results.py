"""bench/results.json: a line a goal, with the machine and the version that it was measured on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from culvert import __version__
from culvert.machine import record as environment

RESULTS = Path(__file__).parent / "results.json"


def stamp() -> dict[str, Any]:
    """When, with what, and where: the part that all lines have."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "culvert": __version__,
        "environment": environment.capture(),
    }


def keep(line: dict[str, Any]) -> None:
    """Replace the line of that ``name``, keep the others."""
    kept: dict[str, Any] = {}
    if RESULTS.exists():
        kept = {old["name"]: old for old in json.loads(RESULTS.read_text())["goals"]}
    kept[line["name"]] = line
    RESULTS.write_text(json.dumps({"goals": list(kept.values())}, indent=2) + "\n")

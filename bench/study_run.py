"""A study as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_study(study: str | Path, out: Path, *options: str) -> dict[str, Any]:
    """``culvert run`` with its journal in ``out``; what it prints as JSON.

    Raises ValueError if it measured nothing.
    """
    culvert = Path(sys.executable).with_name("culvert")
    done = subprocess.run(
        [culvert, "run", study, "--out", out, "--json", *options],
        check=False,  # a trial that failed is the goal's to judge
        stdout=subprocess.PIPE,
    )
    if not done.stdout:
        raise ValueError(f"culvert run {study} ended with exit code {done.returncode}")
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary

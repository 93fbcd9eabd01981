"""The wire measured by its own generator (crates/wire/examples/measure)."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from culvert.errors import NotPossible

ROOT = Path(__file__).parents[1]
LONGEST_S = 120.0


def measure(case: str) -> dict[str, Any]:
    """Figures of a case; raises NotPossible where it cannot be built or run."""
    done = subprocess.run(
        [_example(), case], capture_output=True, text=True, timeout=LONGEST_S, check=False
    )
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["it printed nothing"]
        raise NotPossible(f"measuring {case}", words[-1], "run it as root, with /dev/net/tun")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return found


@cache
def _example() -> str:
    """The example, built beside the program that it measures."""
    build = ["cargo", "build", "--release", "--package", "culvert-wire", "--bins", "--examples"]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotPossible("the example measure", "it cannot be built", "see `cargo build`")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return str(target / "release" / "examples" / "measure")

"""Commands as a user runs them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path


def culvert_s(*words: str | Path) -> float:
    """Wall time of one command of Culvert, in seconds, Python's start included."""
    culvert = Path(sys.executable).with_name("culvert")
    begin = time.monotonic()
    subprocess.run([culvert, *words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin

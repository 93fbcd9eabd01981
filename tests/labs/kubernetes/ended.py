"""A process that has ended."""

from __future__ import annotations

import subprocess
import sys

from culvert.labs.kubernetes.pods.lost import Owner


def ended_process() -> Owner:
    """As it described itself."""
    ask = "from culvert.labs.kubernetes.pods.lost import this_process; print(this_process())"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return Owner.parse(done.stdout.strip())

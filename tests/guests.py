"""Tests that need another kernel than this machine's: run again in a guest, from here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def pass_in_a_guest(tests: Path, *, selected: str = "", deadline_s: float) -> None:
    """Assert that ``tests`` (a file or a folder) pass in a User Mode Linux guest, and are some.

    ``selected``: those that pytest's ``-k`` selects.
    """
    argv = [sys.executable, "-m", "culvert", "vm", "run", "--hypervisor", "uml", "--"]
    argv += [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    done = subprocess.run(
        [*argv, "--tb=short", "-k", selected, str(tests)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=deadline_s,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    assert " passed" in done.stdout

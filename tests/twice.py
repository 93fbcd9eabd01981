"""``python -m tests.twice [PYTEST ARGUMENTS]``: run pytest, and what fails once more, alone.

A test that passes then is unsteady: it is named, and is to be mended. The run fails if a test fails
twice, or if more than ``UNSTEADY`` tests fail at first. Exit codes are pytest's.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.outcomes import read

UNSTEADY = 5


def run(arguments: Sequence[str]) -> int:
    """The exit code."""
    with tempfile.TemporaryDirectory(prefix="culvert-tests-") as place:
        file = Path(place) / "failed"
        code = _pytest(*arguments, f"--failed={file}")
        failed = sorted(read(file))
        if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed) <= UNSTEADY:
            return code
        again = _pytest(*arguments, "--numprocesses", "0", f"--only={file}")
    if again == pytest.ExitCode.OK:
        print(f"{len(failed)} of at most {UNSTEADY} tests are unsteady: they passed only alone")
        print(*(f"UNSTEADY {name}" for name in failed), sep="\n", flush=True)
    return again


def _pytest(*words: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

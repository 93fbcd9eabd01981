"""What ``make demo`` answers to each end of a run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_CULVERT = """\
#!/bin/sh
case $1 in
  run) [ {code} = 2 ] || mkdir "$4"; exit {code};;
  report) [ -n "{broken}" ] && exit 1; touch "$2/report.html";;
esac
"""


def demo(directory: Path, code: int, *, broken: str = "") -> subprocess.CompletedProcess[str]:
    """With a ``culvert`` whose runs end with this exit code."""
    culvert = directory / "culvert"
    culvert.write_text(_CULVERT.format(code=code, broken=broken))
    culvert.chmod(0o755)
    # What a make around this one hands on is not meant for it.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    variables = [f"CULVERT={culvert}", f"OUT={directory}/out", "SUDO="]
    return subprocess.run(
        ["make", "--old-file", "setup", "demo", *variables],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 0), (2, 2), (3, 2), (130, 2)])
def test_trials_that_do_not_count_are_a_sentence(tmp_path: Path, code: int, ends: int) -> None:
    done = demo(tmp_path, code)
    assert done.returncode == ends, done.stderr
    assert ("Some trials do not count" in done.stdout) == (code == 1)
    assert ("*** [" in done.stderr) == (ends != 0)
    assert (tmp_path / "out/report.html").exists() == (code in (0, 1, 3))


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    done = demo(tmp_path, 1, broken="yes")
    assert done.returncode == 2
    assert "do not count" not in done.stdout

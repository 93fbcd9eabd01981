"""``kill -9`` of the whole process group at any moment: nothing is left, nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from culvert.errors import DeadlineExceeded
from culvert.journal.journal import Journal
from culvert.waiting import wait_until
from tests.labs import host

STUDY = """
name = "killed"
vpns = ["none"]
[[measurement]]
kind = "rtt"
rate = "1000/s"
probes = [40, 50, 60]
[[measurement]]
kind = "udp"
duration = "50ms"
[plan]
blocks = 15
"""
CULVERT = Path(sys.executable).with_name("culvert")
KILLS = 10
MEASURED = (0, 1)
"""Exit codes of a run to its end; on a busy machine a trial may be invalid."""
TRIALS = 4 * 15
SETTLED_S = 30.0


class Enclosed:
    """The PID namespace of a command, seen from outside."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._inode: int | None = None

    def processes(self) -> list[Path]:
        """Those in it, their directories in /proc; none before it is made."""
        if self._inode is None:
            pid = self._process.pid
            with suppress(OSError, IndexError):
                child = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
                found = _pid_namespace(Path("/proc", child))
                self._inode = found if found != _pid_namespace(Path("/proc/self")) else None
        if self._inode is None:
            return []
        return [path for path in Path("/proc").glob("[0-9]*") if _is_in(path, self._inode)]

    def in_a_trial(self) -> bool:
        """A program of a lab runs."""
        return any(_is_of_a_lab(path) for path in self.processes())

    def wait_gone(self, before: dict[str, object]) -> None:
        """No process is left, and with the last one the kernel has removed its namespaces; the host
        is as it was, but for what others leave for a moment."""
        wait_until(lambda: not self.processes(), what="its end", deadline_s=SETTLED_S)
        with suppress(DeadlineExceeded):
            wait_until(lambda: host.snapshot() == before, what="as before", deadline_s=SETTLED_S)
        assert host.snapshot() == before


def _pid_namespace(process: Path) -> int:
    return (process / "ns/pid").stat().st_ino


def _is_in(process: Path, inode: int) -> bool:
    with suppress(OSError):
        return _pid_namespace(process) == inode
    return False


def _is_of_a_lab(process: Path) -> bool:
    with suppress(OSError):
        return b"CULVERT_RUN=" in (process / "environ").read_bytes()
    return False


def run(study: Path, out: Path, *extra: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [CULVERT, "run", study, "--out", out, "--json", *extra],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.lab
@pytest.mark.long
def test_ten_kills_at_random_moments(tmp_path: Path) -> None:
    study, out = tmp_path / "killed.toml", tmp_path / "run"
    study.write_text(STUDY)
    before = host.snapshot()
    chance = random.Random(20200)
    kept = killed = 0
    for _ in range(KILLS):
        process = run(study, out, *(["--resume"] if Journal.exists(out) else []))
        enclosed = Enclosed(process)
        wait_until(enclosed.in_a_trial, what="the first trial", deadline_s=60)
        try:
            process.wait(timeout=chance.uniform(0.0, 1.2))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        enclosed.wait_gone(before)
        if Journal.exists(out):
            with Journal.open(out) as journal:
                assert len(journal.done()) >= kept
                kept = len(journal.done())
    assert killed == KILLS
    assert 0 < kept < TRIALS
    last = run(study, out, *(["--resume"] if Journal.exists(out) else []))
    stdout, stderr = last.communicate(timeout=120)
    assert last.returncode in MEASURED, stderr.decode()
    counts = json.loads(stdout)["trials"]
    assert counts["ok"] + counts["invalid"] == TRIALS - kept
    with Journal.open(out) as journal:
        trials = journal.trials()
    assert trials.height == TRIALS
    assert trials.select("block", "cell").is_unique().all()
    Enclosed(last).wait_gone(before)

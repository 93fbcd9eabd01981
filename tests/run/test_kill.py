"""``kill -9`` of the whole process group at any moment: nothing is left, nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from culvert.errors import DeadlineExceeded
from culvert.journal.journal import Journal
from culvert.labs.namespace.owner import owner_of
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


def everything() -> dict[str, object]:
    """The host, and all traces of runs that nobody owns any more (others may be testing too)."""
    runs = {path.name.split("-")[1] for path in Path("/run/netns").glob("culvert-*-*")}
    runs |= {path.name.split(".")[0] for path in Path("/run/culvert").glob("*")}
    runs |= set(_runs_of_processes())
    dead = {run for run in runs if (who := owner_of(run)) is None or not who.alive()}
    traces = [left for run in sorted(dead) if (left := host.left_of(run))]
    return host.snapshot() | {"traces": traces}


def before_all() -> dict[str, object]:
    """Everything, once nothing of a run without an owner is there: other tests' runs that are on
    their way out end by themselves."""
    return wait_until(
        lambda: found if not (found := everything())["traces"] else None,
        what="no other test's run was on its way out",
        deadline_s=SETTLED_S,
    )


def wait_unchanged(before: dict[str, object]) -> None:
    """What a run left would stay; what others leave for a moment does not."""
    with suppress(DeadlineExceeded):
        wait_until(lambda: everything() == before, what="all as before", deadline_s=SETTLED_S)
    assert everything() == before


def in_a_trial(pid: int) -> bool:
    """A lab of that process is open."""
    links = Path("/run/culvert").glob("*.owner")
    return any((who := owner_of(link.stem)) is not None and who.pid == pid for link in links)


def _runs_of_processes() -> Iterator[str]:
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            for entry in environ.read_bytes().split(b"\0"):
                if entry.startswith(b"CULVERT_RUN="):
                    yield entry.decode().partition("=")[2]


def run(study: Path, out: Path, *extra: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [CULVERT, "run", study, "--out", out, "--json", *extra],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.lab
@pytest.mark.long
@pytest.mark.usefixtures("killing")
def test_ten_kills_at_random_moments(tmp_path: Path) -> None:
    study, out = tmp_path / "killed.toml", tmp_path / "run"
    study.write_text(STUDY)
    before = before_all()
    chance = random.Random(20200)
    kept = killed = 0
    for _ in range(KILLS):
        process = run(study, out, *(["--resume"] if Journal.exists(out) else []))
        wait_until(partial(in_a_trial, process.pid), what="the first trial", deadline_s=60)
        try:
            process.wait(timeout=chance.uniform(0.0, 1.2))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        cleaned = subprocess.run([CULVERT, "clean", "--json"], check=True, capture_output=True)
        json.loads(cleaned.stdout)
        wait_unchanged(before)
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
    wait_unchanged(before)

"""``kill -9`` of the whole process group at any moment: nothing is left, nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from culvert.journal.journal import Journal
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
blocks = 5
"""
CULVERT = Path(sys.executable).with_name("culvert")
KILLS = 10


def everything() -> dict[str, object]:
    """The host, and every trace of any run on it."""
    return host.snapshot() | {"traces": host.left_of("")}


def run(study: Path, out: Path, *extra: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [CULVERT, "run", study, "--out", out, "--json", *extra],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.lab
@pytest.mark.slow
def test_ten_kills_at_random_moments(tmp_path: Path) -> None:
    study, out = tmp_path / "killed.toml", tmp_path / "run"
    study.write_text(STUDY)
    before = everything()
    chance = random.Random(20200)
    kept = 0
    for _ in range(KILLS):
        process = run(study, out, *(["--resume"] if Journal.exists(out) else []))
        try:
            process.wait(timeout=chance.uniform(0.3, 2.5))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        cleaned = subprocess.run([CULVERT, "clean", "--json"], check=True, capture_output=True)
        json.loads(cleaned.stdout)
        assert everything() == before
        if Journal.exists(out):
            with Journal.open(out) as journal:
                assert len(journal.done()) >= kept
                kept = len(journal.done())
    last = run(study, out, *(["--resume"] if Journal.exists(out) else []))
    stdout, stderr = last.communicate(timeout=120)
    assert last.returncode == 0, stderr.decode()
    assert json.loads(stdout)["trials"]["ok"] == 20 - kept
    with Journal.open(out) as journal:
        trials = journal.trials()
    assert trials.height == 20
    assert trials.select("block", "cell").is_unique().all()
    assert everything() == before

"""Runs that end at random moments while tunnels are brought up, by a kill, a request, or Ctrl-C."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from culvert.journal.journal import Journal
from culvert.waiting import wait_until
from tests.labs import host
from tests.run.test_kill import CULVERT, MEASURED, Enclosed, run

VPNS = {
    "pair": ("wireguard/go", "openvpn/aes-256-gcm"),
    "mesh": ("wireguard/go", "openvpn/aes-256-gcm", "nebula/aes"),  # it needs a control server
}
STUDY = """
name = "killed"
vpns = [{vpns}]
[lab]
topology = "{topology}"
[[measurement]]
kind = "rtt"
rate = "1000/s"
probes = 20
[plan]
blocks = {blocks}
"""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ENDS = 15
BLOCKS = 6
LATEST_S = 1.2
"""After the lab of a trial was claimed; most of a trial is the way up."""
END_S = 20.0
SEED = 20201


def ready(topology: str) -> list[str]:
    listed = subprocess.run([CULVERT, "vpns", "--json"], check=True, capture_output=True)
    found = {row["vpn"] for row in json.loads(listed.stdout) if row["ready"]}
    return [vpn for vpn in VPNS[topology] if vpn in found]


def has_begun(process: subprocess.Popen[bytes], enclosed: Enclosed) -> bool:
    return enclosed.in_a_trial() or process.poll() is not None


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.long
@pytest.mark.parametrize(
    ("topology", "ends"),
    [("pair", ENDS // 2), ("mesh", ENDS - ENDS // 2)],
)
def test_runs_that_end_on_the_way_up(tmp_path: Path, topology: str, ends: int) -> None:
    vpns = ready(topology)
    if not vpns:
        pytest.skip("no VPN is installed: culvert install wireguard/go")
    study, out = tmp_path / "killed.toml", tmp_path / "run"
    words = ", ".join(f'"{vpn}"' for vpn in vpns)
    study.write_text(STUDY.format(vpns=words, topology=topology, blocks=BLOCKS))
    before = host.snapshot()
    chance = random.Random(f"{SEED} {topology}")
    kept, moments = 0, Counter[str]()
    for number in range(ends):
        process = run(study, out, *(["--resume"] if Journal.exists(out) else []))
        enclosed = Enclosed(process)
        wait_until(partial(has_begun, process, enclosed), what="the first trial", deadline_s=60)
        sent = SIGNALS[number % len(SIGNALS)]
        try:
            process.wait(timeout=chance.uniform(0.0, LATEST_S))
        except subprocess.TimeoutExpired:
            moments[sent.name] += 1
            if sent is signal.SIGKILL:
                os.killpg(process.pid, sent)
            else:
                process.send_signal(sent)
        _, complained = process.communicate(timeout=END_S)
        assert b"Traceback" not in complained, complained.decode()
        assert b"defect" not in complained, complained.decode()
        if sent is not signal.SIGKILL:
            assert process.returncode in (130, *MEASURED), complained.decode()
        enclosed.wait_gone(before)
        if Journal.exists(out):
            with Journal.open(out) as journal:
                assert len(journal.done()) >= kept
                kept = len(journal.done())
    assert moments
    last = run(study, out, *(["--resume"] if Journal.exists(out) else []))
    stdout, stderr = last.communicate(timeout=120)
    assert last.returncode in MEASURED, stderr.decode()
    json.loads(stdout)
    with Journal.open(out) as journal:
        trials = journal.trials()
    assert trials.height == BLOCKS * (len(vpns) + 1)  # and the baseline
    assert trials.select("block", "cell").is_unique().all()
    Enclosed(last).wait_gone(before)

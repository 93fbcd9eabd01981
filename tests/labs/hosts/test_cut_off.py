"""Cut off at random moments: nothing stays on the hosts, and ``--resume`` ends the study.

``python -m tests.labs.hosts.test_cut_off 5`` does it five times for each way to become root.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import pytest

from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.listed.inventory import read_inventory
from culvert.results import Status
from culvert.runid import new_run_id
from tests.cli import CULVERT
from tests.labs.hosts.connections import connect
from tests.labs.hosts.logins import WAYS, WITH_PASSWORD, Login, log_in_as
from tests.labs.hosts.remains import init_of, remains, wait_unchanged
from tests.labs.hosts.studies import round_trips
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
VICTIMS = ("controller", "connection", "sshd")
VPNS = ("strongswan/esp-aes128gcm", "openvpn/aes-128-gcm")
_RUN_S = 240


class Run:
    """``culvert run`` on the hosts, in a process of its own."""

    def __init__(self, inventory: Path, study: Path, out: Path, *, resume: bool) -> None:
        words = ["run", str(study), "--lab", "hosts", "--inventory", str(inventory)]
        words += ["--out", str(out), *(["--resume"] if resume else [])]
        self.process = subprocess.Popen(
            [CULVERT, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def masters(self) -> list[int]:
        """Its connections' processes."""
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        pids = [int(pid) for file in children for pid in file.read_text().split()]
        return [pid for pid in pids if b"ControlMaster=yes" in _words(pid)]


def cut_off(
    demo: DemoHosts, inventory: Path, directory: Path, vpn: str, victim: str, after_s: float
) -> None:
    """One run, cut off; then nothing may be left, and the rest of the study runs."""
    before = {name: remains(demo, name) for name in demo.names}
    study, out = round_trips(directory, vpns=f'"none", "{vpn}"'), directory / "run"
    run = Run(inventory, study, out, resume=False)
    deadline = time.monotonic() + 30
    while not run.masters() and run.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(after_s)  # the random moment
    match victim:
        case "controller":
            run.process.kill()
        case "connection":
            for pid in run.masters():
                os.kill(pid, signal.SIGKILL)
            run.process.send_signal(signal.SIGINT)
        case "sshd":
            _kill_sessions(demo)
            run.process.send_signal(signal.SIGINT)
    if victim != "controller":
        run.process.communicate(timeout=_RUN_S)
    for name in demo.names:
        wait_unchanged(demo, name, before[name])
    run.process.communicate(timeout=_RUN_S)
    again = Run(inventory, study, out, resume=Journal.exists(out))
    told, _ = again.process.communicate(timeout=_RUN_S)
    with Journal.open(out) as journal:
        recorded = journal.trials().filter(measurement="rtt")
    # A trial that lost its host stays beside the one that was measured in its place.
    done = recorded.filter(pl.col("status") != str(Status.FAILED))
    assert len(done) == 2, told
    for name in demo.names:
        wait_unchanged(demo, name, before[name])


def cut_off_as(demo: DemoHosts, way: Login, directory: Path, victim: str, after_s: float) -> None:
    """The VPN is any that works here."""
    vpns = [vpn for vpn in VPNS if not skip_reason(vpn)]
    if not vpns:
        pytest.skip(skip_reason(VPNS[0]))
    inventory = log_in_as(demo, way)
    with Fleet(read_inventory(inventory), new_run_id()) as fleet:
        connect(fleet, fleet.inventory.hosts)  # what a login itself writes is not the run's
    cut_off(demo, inventory, directory, random.choice(vpns), victim, after_s)


@pytest.mark.slow
def test_nothing_is_left_after_a_cut(demo: DemoHosts, tmp_path: Path) -> None:
    cut_off_as(demo, WITH_PASSWORD, tmp_path, "controller", random.uniform(0.2, 6))


@pytest.mark.long
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_nothing_is_left_after_any_cut(
    demo: DemoHosts, tmp_path: Path, way: Login, victim: str
) -> None:
    cut_off_as(demo, way, tmp_path, victim, random.uniform(0.2, 6))


def _kill_sessions(demo: DemoHosts) -> None:
    """Every process of sshd but those that listen."""
    for name in demo.names:
        init = init_of(demo, name)
        namespace = Path(f"/proc/{init}/ns/pid").readlink()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                ours = (process / "ns/pid").readlink() == namespace
            except OSError:
                continue
            if ours and int(process.name) != init and _words(int(process.name))[:5] == b"sshd:":
                os.kill(int(process.name), signal.SIGKILL)


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    with DemoHosts() as hosts:
        for number in range(int(sys.argv[1]) * len(WAYS)):
            moment_s, victim = random.uniform(0.0, 8.0), VICTIMS[number % len(VICTIMS)]
            way = WAYS[number % len(WAYS)]
            with tempfile.TemporaryDirectory() as made:
                cut_off_as(hosts, way, Path(made), victim, moment_s)
            print(f"{number + 1}: {way.name}: {victim} after {moment_s:.2f} s", flush=True)

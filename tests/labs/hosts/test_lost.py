"""Hosts that are lost in the middle of a trial: it is named, others go on, ``--resume`` repeats."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from culvert.journal.journal import Journal
from culvert.labs.hosts import connection, host, start
from culvert.labs.hosts.demo import DemoHosts
from culvert.plan.attempts import to_repeat
from culvert.waiting import wait_until
from tests.cli import Cli
from tests.labs.hosts.remains import init_of, processes, remains, wait_unchanged
from tests.labs.hosts.studies import round_trips

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@contextmanager
def once_it_measures(demo: DemoHosts, name: str, event: Callable[[], None]) -> Iterator[None]:
    """While the body runs, something happens to a host on which a probe has begun to work."""

    def happens() -> None:
        init = init_of(demo, name)
        wait_until(
            lambda: any(line.endswith("culvert-probe agent") for line in processes(init)),
            what="a probe ran there",
            deadline_s=60,
            poll_s=0.05,
        )
        event()

    thread = threading.Thread(target=happens)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def kill_sessions(demo: DemoHosts, name: str) -> None:
    """Every process of a host's sshd but the one that listens."""
    init = init_of(demo, name)
    namespace = Path(f"/proc/{init}/ns/pid").readlink()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns/pid").readlink() != namespace or int(process.name) == init:
                continue
            if (process / "cmdline").read_bytes().startswith(b"sshd:"):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue


def run(say: Cli, demo: DemoHosts, directory: Path, *words: str) -> None:
    study, out = round_trips(directory, probes=1000, blocks=2), directory / "run"
    options = ["--lab", "hosts", "--inventory", str(demo.inventory), "--out", str(out), *words]
    told = say("run", str(study), *options)
    with Journal.open(out) as journal:
        if not words:
            assert to_repeat(journal.done()), told.out + told.err
            assert "repeat them with: culvert run" in told.out
            assert "--resume" in told.out
            lost = [row for row in journal.trials().iter_rows(named=True) if row["reason"]]
            assert {row["status"] for row in lost} == {"failed"}, [
                (row["measurement"], row["status"], row["reason"]) for row in lost
            ]
            assert all("host b: " in row["reason"] for row in lost)
            assert all(row["remedy"] for row in lost)
        else:
            assert not to_repeat(journal.done())
            trials = journal.trials().filter(measurement="rtt", status="ok")
            assert trials["block"].sort().to_list() == [1, 2], told.out + told.err


def test_sshd_is_killed_in_a_trial(say: Cli, demo: DemoHosts, tmp_path: Path) -> None:
    before = {name: remains(demo, name) for name in demo.names}
    with once_it_measures(demo, "b", lambda: kill_sessions(demo, "b")):
        run(say, demo, tmp_path)
    with Journal.open(tmp_path / "run") as journal:
        # The next trial connected again.
        assert "ok" in set(journal.trials()["status"])
    run(say, demo, tmp_path, "--resume")
    for name in demo.names:
        wait_unchanged(demo, name, before[name])


def test_the_link_to_a_host_is_cut_in_a_trial(
    say: Cli, demo: DemoHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host removes everything by itself, and the controller does not wait for it."""
    impatient = tuple(
        option.replace(f"Interval={connection.ALIVE_S}", "Interval=1")
        for option in connection._OPTIONS
    )
    monkeypatch.setattr(connection, "_OPTIONS", impatient)
    monkeypatch.setattr(host, "SILENT_S", 5.0)
    monkeypatch.setattr(start, "SILENCE_S", 4)
    monkeypatch.setattr(connection, "SILENCE_S", 4)
    monkeypatch.setattr(connection, "BEAT_S", 1.0)
    before = {name: remains(demo, name) for name in demo.names}
    node = demo.node("b")
    device = node.attachments[-1].device

    def cut() -> None:
        routes = node.run(["ip", "route", "show", "dev", device]).stdout.splitlines()
        node.run(["ip", "link", "set", device, "down"])
        try:
            wait_until(
                lambda: not any("culvert-" in line for line in processes(init_of(demo, "b"))),
                what="the host has removed the run",
                deadline_s=30,
                poll_s=0.1,
            )
        finally:
            node.run(["ip", "link", "set", device, "up"])
            for route in routes:
                node.run(["ip", "route", "replace", *route.split(), "dev", device], check=False)

    with once_it_measures(demo, "b", cut):
        run(say, demo, tmp_path)
    run(say, demo, tmp_path, "--resume")
    for name in demo.names:
        wait_unchanged(demo, name, before[name])

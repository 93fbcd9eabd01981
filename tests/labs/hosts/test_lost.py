"""Hosts that are lost in the middle of a trial: it is named, ``--resume`` repeats the trial."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from culvert.journal.journal import Journal
from culvert.labs.hosts import host
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.remote import start
from culvert.labs.hosts.ssh import command
from culvert.waiting import wait_until
from tests.cli import Cli
from tests.labs.hosts.bad import up_again
from tests.labs.hosts.conftest import OWN_KERNEL
from tests.labs.hosts.remains import init_of, processes, remains, wait_unchanged
from tests.labs.hosts.studies import round_trips
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.slow]
MESH = "nebula/aes"


@contextmanager
def once_it_measures(
    demo: DemoHosts, name: str, event: Callable[[], None], program: str = ""
) -> Iterator[None]:
    """While the body runs, something happens to a host on which a probe has begun to work, while
    this program runs there too. Fails if the body ends and nothing has happened."""
    over = threading.Event()
    failures: list[BaseException] = []

    def measures(init: int) -> bool:
        lines = processes(init)
        probes = any(line.endswith("culvert-probe agent") for line in lines)
        return probes and any(program in line for line in lines)

    def happens() -> None:
        try:
            init = init_of(demo, name)
            while not measures(init):
                if over.wait(0.05):
                    raise AssertionError(f"no probe ran on host {name} beside {program or 'sshd'}")
            event()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=happens)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failures:
        raise failures[0]


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
            assert journal.to_repeat(), told.out + told.err
            assert "repeat them with: culvert run" in told.out
            assert "--resume" in told.out
            lost = [row for row in journal.trials().iter_rows(named=True) if row["reason"]]
            assert {row["status"] for row in lost} == {"failed"}, [
                (row["measurement"], row["status"], row["reason"]) for row in lost
            ]
            assert all("host b: " in row["reason"] for row in lost)
            assert all(row["remedy"] for row in lost)
        else:
            assert not journal.to_repeat()
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


@pytest.mark.vpn
@pytest.mark.long
def test_a_host_that_does_not_come_back_is_waited_for_by_a_resumed_run(
    say: Cli, five: DemoHosts, tmp_path: Path
) -> None:
    """Two pairs in one topology; a host loses power while a VPN is measured, and is started again
    before the run is resumed."""
    if why_not := skip_reason(MESH):
        pytest.skip(why_not)
    lab = 'topology = "mesh"\nmembers = 4\npaths = ["a>b", "c>d"]'
    study = round_trips(tmp_path, vpns=f'"{MESH}"', lab=lab, probes=500, blocks=2)
    out = tmp_path / "run"
    options = ["--lab", "hosts", "--inventory", str(five.inventory), "--out", str(out)]
    before = {name: remains(five, name) for name in five.names}
    with up_again(five, "b", OWN_KERNEL):
        with once_it_measures(five, "b", lambda: five.servers["b"].stop(grace_s=0), "nebula"):
            told = say("run", str(study), *options)
        with Journal.open(out) as journal:
            trials, places = journal.trials(), journal.to_repeat()
        assert len(places) >= 4, told.out + told.err  # the trial, and all of the second block
        assert set(trials["status"]) == {"ok", "failed"}
        for row in trials.filter(status="failed").iter_rows(named=True):
            assert "host b: " in row["reason"]
            assert row["remedy"]
            assert (row["block"], row["cell"]) in places
    told = say("run", str(study), *options, "--resume")
    with Journal.open(out) as journal:
        assert not journal.to_repeat(), told.out + told.err
        rows = journal.rows().filter(status="ok", metric="rtt_p50_us", measurement="rtt")
    # Each path once, and the median of both.
    assert paths_of(rows) == {"a>b", "c>d", ""}
    assert set(rows.group_by("vpn", "block", "labels").len()["len"]) == {1}
    assert len(rows) == 2 * 2 * 3
    for name in five.names:
        wait_unchanged(five, name, before[name])


def paths_of(rows: pl.DataFrame) -> set[str]:
    return {json.loads(labels).get("path", "") for labels in rows["labels"]}


def test_the_link_to_a_host_is_cut_in_a_trial(
    say: Cli, demo: DemoHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host removes everything by itself, and the controller does not wait for it."""
    impatient = tuple(
        option.replace(f"Interval={command.ALIVE_S}", "Interval=1") for option in command._OPTIONS
    )
    monkeypatch.setattr(command, "_OPTIONS", impatient)
    monkeypatch.setattr(host, "SILENT_S", 5.0)
    monkeypatch.setattr(start, "SILENCE_S", 4)
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

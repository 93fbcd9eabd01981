"""Interruptions of a VPN in the middle of a load, and the trials that have them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from culvert.labs.process import Process
from culvert.machine.cgroup import hierarchies
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.rtt.rtt import Rtt
from culvert.measurements.tcp.tcp import Tcp
from culvert.measurements.udp.udp import Udp
from culvert.proof.interference import LEFT_ALONE
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.watch import Watched
from culvert.waiting import wait_until
from tests.run.cells import measure, vpn

LOADS: dict[str, tuple[type[Measurement[Any]], dict[str, Any]]] = {
    "tcp": (Tcp, {"duration": "2s", "warmup": "100ms"}),
    "udp": (Udp, {"duration": "2s", "packet_size": "max", "rate": "10Mbit/s"}),
    "rtt": (Rtt, {"rate": "200/s", "probes": 400}),
}
PTRACE_ATTACH, PTRACE_DETACH, ALL_CHILDREN = 16, 17, 0x40000000


@dataclass(frozen=True)
class Victim:
    """The end of the path to which something is done, with its VPN's process and device."""

    session: Session

    @property
    def process(self) -> Process:
        return self.session.vpn.processes[self.session.target.name][0]

    @property
    def threads(self) -> list[str]:
        return [thread.name for thread in Path(f"/proc/{self.process.pid}/task").iterdir()]

    @property
    def device(self) -> str:
        return self.session.vpn.interface(self.session.target)

    def ip(self, *words: str) -> str:
        return self.session.target.run(["ip", *words]).stdout


Interruption = Callable[[Victim], None]


def trial(word: str, kind: str, interrupt: Interruption, after_s: float = 0.3) -> TrialFinding:
    """A trial that is interrupted so many seconds after its load has begun."""
    contestant, (measurement, chosen) = vpn(word), LOADS[kind]
    failures: list[BaseException] = []

    class Interrupted(measurement):  # type: ignore[misc,valid-type]
        def run(self, session: Session, parameters: BaseParameters) -> Outcome:
            victim, watch = Victim(session), session.watch

            def work() -> None:
                try:
                    interrupt(victim)
                except BaseException as failure:
                    failures.append(failure)

            timer = threading.Timer(after_s, work)

            @contextmanager
            def watched(*, sample_one_in: int) -> Iterator[Watched]:
                with watch(sample_one_in=sample_one_in) as found:
                    timer.start()
                    yield found
                    timer.join()

            session.watch = watched  # type: ignore[method-assign]
            return cast(Outcome, super().run(session, parameters))

    finding = measure(contestant, Interrupted(), chosen)
    if failures:
        raise failures[0]
    return finding


def assert_invalid(finding: TrialFinding, *words: str) -> None:
    """Not a figure, and the reason names what was done."""
    assert finding.status is Status.INVALID, finding.reason
    assert finding.reason.startswith(LEFT_ALONE)
    for word in words:
        assert word in finding.reason
    assert finding.remedy


def hold(seconds: float) -> None:
    """How long an interruption lasts."""
    threading.Event().wait(seconds)


# -- processes -------------------------------------------------------------------------------------


def stop(seconds: float) -> Interruption:
    def act(victim: Victim) -> None:
        process = victim.process
        os.kill(process.pid, signal.SIGSTOP)
        try:
            wait_until(lambda: bool(process.stopped()), what="the stop", deadline_s=2)
            hold(seconds)
        finally:
            os.kill(process.pid, signal.SIGCONT)

    return act


def trace(victim: Victim) -> None:
    libc, pid = ctypes.CDLL(None), victim.process.pid
    assert libc.ptrace(PTRACE_ATTACH, pid, 0, 0) == 0
    os.waitpid(pid, ALL_CHILDREN)
    hold(0.2)
    assert libc.ptrace(PTRACE_DETACH, pid, 0, 0) == 0


def with_threads(does: list[str], undoes: list[str]) -> Interruption:
    """A command on each thread, which is the last argument, and one that undoes it."""

    def act(victim: Victim) -> None:
        for words in (does, undoes):
            for thread in victim.threads:
                subprocess.run([*words, thread], check=False, capture_output=True)
            if words is does:
                hold(0.4)

    return act


pin = with_threads(["taskset", "-p", "1"], ["taskset", "-p", "ffff"])
idle = with_threads(["chrt", "-i", "-p", "0"], ["chrt", "-o", "-p", "0"])
_renice = with_threads(["renice", "-n", "19", "-p"], ["renice", "-n", "0", "-p"])


def renice(victim: Victim) -> None:
    """Beside busy loops."""
    with busy_loops(2):
        _renice(victim)


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


# -- control groups --------------------------------------------------------------------------------


def mounted(controller: str | None) -> Path:
    """The hierarchy with that controller, of version 1; of version 2 with None."""
    for one in hierarchies():
        if (one.version == 2) if controller is None else (controller in one.controllers):
            return one.path
    pytest.skip(f"no control groups with {controller or 'version 2'} here")


def grouped(
    controller: str | None, setting: dict[str, str], after: dict[str, str] | None = None
) -> Interruption:
    """In a group with that setting, then back in the group before."""

    def act(victim: Victim) -> None:
        top = mounted(controller)
        group = top / f"strangers-{os.getpid()}"
        pid = str(victim.process.pid)
        group.mkdir()
        try:
            for name, value in setting.items():
                (group / name).write_text(value)
            (group / "cgroup.procs").write_text(pid)
            hold(0.4)
            for name, value in (after or {}).items():
                (group / name).write_text(value)
            (top / "cgroup.procs").write_text(pid)
        finally:
            wait_until(
                lambda: not (group / "cgroup.procs").read_text(), what="it left", deadline_s=3
            )
            group.rmdir()

    return act


starve = grouped("cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "1000"})
one_core = grouped("cpuset", {"cpuset.mems": "0", "cpuset.cpus": "0"})
freeze_1 = grouped("freezer", {"freezer.state": "FROZEN"}, {"freezer.state": "THAWED"})
freeze_2 = grouped(None, {"cgroup.freeze": "1"}, {"cgroup.freeze": "0"})


# -- the network -----------------------------------------------------------------------------------


def down(seconds: float) -> Interruption:
    def act(victim: Victim) -> None:
        victim.ip("link", "set", victim.device, "down")
        hold(seconds)
        victim.ip("link", "set", victim.device, "up")

    return act


def smaller_mtu(victim: Victim) -> None:
    link = victim.session.target.link(victim.device)
    assert link is not None
    victim.ip("link", "set", victim.device, "mtu", "1200")
    hold(0.3)
    victim.ip("link", "set", victim.device, "mtu", str(link.mtu))


def no_address(victim: Victim) -> None:
    link = victim.session.target.link(victim.device)
    assert link is not None
    address = str(link.addresses[0])
    victim.ip("address", "del", address, "dev", victim.device)
    hold(0.3)
    victim.ip("address", "add", address, "dev", victim.device)


def no_route(victim: Victim) -> None:
    route = victim.ip("-4", "route", "show", "dev", victim.device).splitlines()[0].split()
    victim.ip("route", "del", route[0], "dev", victim.device)
    hold(0.3)
    victim.ip("route", "add", *route, "dev", victim.device)


def black_hole(victim: Victim) -> None:
    to = f"{victim.session.inner(victim.session.source)}/32"
    victim.ip("route", "add", "blackhole", to)
    hold(0.3)
    victim.ip("route", "del", "blackhole", to)


def other_queue(victim: Victim) -> None:
    run = victim.session.target.run
    run(["tc", "qdisc", "add", "dev", victim.device, "root", "pfifo", "limit", "1"])
    hold(0.3)
    run(["tc", "qdisc", "del", "dev", victim.device, "root"])


def dropping(victim: Victim) -> None:
    run = victim.session.target.run
    run(
        [
            "nft",
            "add table ip strangers; "
            "add chain ip strangers c { type filter hook input priority 0; }; "
            "add rule ip strangers c udp dport 1-65535 drop",
        ]
    )
    hold(0.3)
    run(["nft", "delete table ip strangers"])


def nothing(victim: Victim) -> None:
    """The control."""
    assert victim.process.alive()

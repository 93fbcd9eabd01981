"""Interruptions of a VPN in the middle of a load, and the trials that have them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.machine.cgroup import hierarchies
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.rtt.rtt import Rtt
from culvert.measurements.tcp.tcp import Tcp
from culvert.measurements.udp.udp import Udp
from culvert.proof.interference import LEFT_ALONE
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import LabFactory
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.outside import LONG_RUN
from culvert.trial.session import Session
from culvert.trial.watch import Watched
from culvert.waiting import wait_until
from tests.checks import failed_check
from tests.run.cells import in_namespaces, measure, vpn

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
    at_source: bool = False

    @property
    def node(self) -> Node:
        return self.session.source if self.at_source else self.session.target

    @property
    def process(self) -> Process:
        return self.session.vpn.processes[self.node.name][0]

    @property
    def threads(self) -> list[str]:
        return [thread.name for thread in Path(f"/proc/{self.process.pid}/task").iterdir()]

    @property
    def device(self) -> str:
        return self.session.vpn.interface(self.node)

    def run(self, *words: str) -> str:
        return self.node.run(words).stdout

    def ip(self, *words: str) -> str:
        return self.run("ip", *words)


Interruption = Callable[[Victim], None]


def over_a_wire(spec: LabSpec) -> Lab:
    """A lab whose link a busy machine forwards in time."""
    return in_namespaces(replace(spec, link=LinkSpec(kind="wire", rate_bps=50_000_000)))


def trial(
    word: str,
    kind: str,
    interrupt: Interruption,
    after_s: float = 0.3,
    make_lab: LabFactory = in_namespaces,
) -> TrialFinding:
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
            def watched(*, sample_one_in: int, marked_run: int = LONG_RUN) -> Iterator[Watched]:
                with watch(sample_one_in=sample_one_in, marked_run=marked_run) as found:
                    timer.start()
                    yield found
                    timer.join()

            session.watch = watched  # type: ignore[method-assign]
            return cast(Outcome, super().run(session, parameters))

    finding = measure(contestant, Interrupted(), chosen, make_lab=make_lab)
    if failures:
        raise failures[0]
    return finding


def assert_invalid(finding: TrialFinding, *words: str, check: str = LEFT_ALONE) -> None:
    """Not a figure, and the reason names what was done."""
    assert finding.status is Status.INVALID, finding.reason
    assert failed_check(finding).name == check
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


def stop_there(seconds: float) -> Interruption:
    """By a program of the node, whose numbers of processes may be its own."""

    def act(victim: Victim) -> None:
        pid = str(victim.process.pid)
        victim.run("kill", "-STOP", pid)
        hold(seconds)
        victim.run("kill", "-CONT", pid)

    return act


def stop_process(process: Process, seconds: float = 0.1) -> None:
    """One of this machine's."""
    os.kill(process.pid, signal.SIGSTOP)
    hold(seconds)
    os.kill(process.pid, signal.SIGCONT)


def stop_probe(victim: Victim) -> None:
    """Of the receiving end."""
    stop_process(victim.session.b.process)


def stop_link(victim: Victim) -> None:
    """The program of the link."""
    (process,) = victim.session.lab.programs
    stop_process(process)


def at_the_source(act: Interruption) -> Interruption:
    """The same at the other end of the path."""
    return lambda victim: act(replace(victim, at_source=True))


def trace(victim: Victim) -> None:
    libc, pid = ctypes.CDLL(None), victim.process.pid
    assert libc.ptrace(PTRACE_ATTACH, pid, 0, 0) == 0
    os.waitpid(pid, ALL_CHILDREN)
    hold(0.2)
    assert libc.ptrace(PTRACE_DETACH, pid, 0, 0) == 0


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


def left(group: Path, top: Path) -> bool:
    """Whether no thread is in the group any more; those that are, their own children too, leave."""
    threads = (group / "tasks").read_text().split()
    for thread in threads:
        (top / "tasks").write_text(thread)
    return not threads


def threads_grouped(controller: str, setting: dict[str, str]) -> Interruption:
    """All threads but the first in a group of version 1, which has no say for the process."""

    def act(victim: Victim) -> None:
        top = mounted(controller)
        group, threads = top / f"strangers-{os.getpid()}", victim.threads[1:]
        group.mkdir()
        try:
            for name, value in setting.items():
                (group / name).write_text(value)
            for thread in threads:
                (group / "tasks").write_text(thread)
            hold(0.4)
        finally:
            wait_until(lambda: left(group, top), what="they left", deadline_s=3)
            group.rmdir()

    return act


starve_threads = threads_grouped("cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "1000"})
starve = grouped("cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "1000"})
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
    link = victim.node.link(victim.device)
    assert link is not None
    victim.ip("link", "set", victim.device, "mtu", "1200")
    hold(0.3)
    victim.ip("link", "set", victim.device, "mtu", str(link.mtu))


def no_address(victim: Victim) -> None:
    link = victim.node.link(victim.device)
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


def with_commands(does: str, undoes: str) -> Interruption:
    """Commands of the node; DEVICE is the tunnel's, UNDERLAY the link's."""

    def act(victim: Victim) -> None:
        words = {"DEVICE": victim.device, "UNDERLAY": victim.node.underlay.device}
        victim.run(*(words.get(word, word) for word in does.split()))
        hold(0.3)
        victim.run(*(words.get(word, word) for word in undoes.split()))

    return act


no_carrier = with_commands("ip link set DEVICE carrier off", "ip link set DEVICE carrier on")
no_arp = with_commands("ip link set UNDERLAY arp off", "ip link set UNDERLAY arp on")


def other_hardware_address(victim: Victim) -> None:
    device = victim.node.underlay.device
    before = victim.run("cat", f"/sys/class/net/{device}/address").strip()
    victim.ip("link", "set", device, "address", "02:00:00:00:00:99")
    hold(0.3)
    victim.ip("link", "set", device, "address", before)


def other_queue(victim: Victim) -> None:
    run = victim.node.run
    run(["tc", "qdisc", "add", "dev", victim.device, "root", "pfifo", "limit", "1"])
    hold(0.3)
    run(["tc", "qdisc", "del", "dev", victim.device, "root"])


def nothing(victim: Victim) -> None:
    """The control."""
    assert victim.process.alive()

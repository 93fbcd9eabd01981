"""Trials in whose middle something is killed or stopped: the reason names it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from culvert.journal.marks import Disturber, marks_of
from culvert.labs.node import Node
from culvert.labs.process import how_ended, remedy_for
from culvert.measurements.base import BaseParameters
from culvert.results import Status
from culvert.run import neighbours
from culvert.run.neighbours import announced, others, warning
from culvert.run.trials.finding import TrialFinding
from culvert.topology.graph import Role
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn
from tests.here import HERE
from tests.run.cells import SHORT, execute, measure, vpn

KINDS = ("tcp", "udp", "rtt")
Victim = Callable[[Session], int]
WIRE = LabSpec(link=LinkSpec(kind="wire", rate_bps=100_000_000))


OTHER = """
from culvert.run.neighbours import announced
with announced():
    print("open", flush=True)
    __import__('sys').stdin.read()
"""


def hit(
    kind: str,
    victim: Victim,
    number: int,
    spec: LabSpec | None = None,
    contestant: Vpn | None = None,
) -> TrialFinding:
    """A trial, of the baseline unless given, in whose middle a process gets a signal."""
    measurement, chosen = SHORT[kind]

    class Hit(measurement):  # type: ignore[misc,valid-type]
        def run(self, session: Session, parameters: BaseParameters) -> Outcome:
            timer = threading.Timer(0.2, lambda: os.kill(victim(session), number))
            timer.start()
            try:
                return cast(Outcome, super().run(session, parameters))
            finally:
                timer.join()

    return measure(contestant or vpn("none"), Hit(), chosen, spec)


def wire(session: Session) -> int:
    return session.lab.programs[0].pid


@pytest.mark.lab
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["a", "b"])
def test_a_probe_that_is_killed(kind: str, end: str) -> None:
    finding = hit(kind, lambda session: session.ends[end].process.pid, signal.SIGKILL)
    assert finding.status is Status.FAILED
    assert finding.reason.startswith(f"the probe on node {end}: it was killed (SIGKILL)")
    assert "another program killed it" in finding.remedy


@pytest.mark.lab
@pytest.mark.parametrize("end", ["a", pytest.param("b", marks=pytest.mark.long)])
def test_a_probe_that_is_stopped(end: str) -> None:
    finding = hit("rtt", lambda session: session.ends[end].process.pid, signal.SIGSTOP)
    assert finding.status is Status.FAILED
    assert finding.reason.startswith(f"the probe on node {end}: it is stopped")
    assert "that stops processes" in finding.remedy


@pytest.mark.lab
@pytest.mark.parametrize("kind", KINDS)
def test_a_wire_that_is_killed(kind: str) -> None:
    finding = hit(kind, wire, signal.SIGKILL, WIRE)
    assert finding.status is Status.FAILED
    assert finding.reason.startswith("the wire (culvert-wire): it was killed (SIGKILL)")
    assert "another program killed it" in finding.remedy


@pytest.mark.lab
def test_a_wire_that_is_stopped() -> None:
    finding = hit("rtt", wire, signal.SIGSTOP, WIRE)
    assert finding.status is Status.FAILED
    assert finding.reason.startswith("the wire (culvert-wire): it is stopped")


class NeedsControl(NoVpn):
    """Has a server beside its members, as mesh VPNs have."""

    needs = (Role.CONTROL,)

    def serve(self, server: Node) -> None:
        self.processes[server.name].append(server.spawn(["sleep", "1000"], name="coordinator"))


@pytest.mark.lab
@pytest.mark.parametrize("kind", KINDS)
def test_a_control_server_that_is_killed(kind: str) -> None:
    contestant = NeedsControl(NoVpn.variants[0])

    def server(session: Session) -> int:
        (name,) = (node.name for node in session.lab.of_role(Role.CONTROL))
        return contestant.processes[name][0].pid

    spec = LabSpec(topology=mesh(2))
    finding = hit(kind, server, signal.SIGKILL, spec, contestant)
    assert finding.status is Status.FAILED
    assert "coordinator on node " in finding.reason
    assert "was killed (SIGKILL)" in finding.reason
    assert "another program killed it" in finding.remedy


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGSTOP, marks=pytest.mark.long), signal.SIGKILL]
)
def test_a_program_that_counts_its_packets_is_stopped_or_killed(number: int) -> None:
    """Culvert asks it for its counters when the measurement has ended."""
    contestant = vpn("headscale/direct")
    if contestant.missing(HERE):
        pytest.skip("headscale is not installed")
    finding = hit(
        "tcp",
        lambda session: contestant.processes["a"][0].pid,
        number,
        LabSpec(topology=mesh(2)),
        contestant,
    )
    assert finding.status is Status.FAILED
    how = "is stopped" if number == signal.SIGSTOP else "was killed (SIGKILL)"
    assert finding.reason.startswith("headscale/direct: tailscaled"), finding.reason
    assert how in finding.reason


@pytest.mark.lab
def test_a_trial_beside_another_run_is_marked() -> None:
    """The other one is marked as well: both see the owners of each other's labs."""
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        assert str(other.pid) in (warning() or "")
        finding = execute(vpn("none"), "rtt")
        other.stdin.close()
    assert finding.status is Status.OK
    (mark,) = (mark for mark in finding.evidence.marks if mark.by is Disturber.RUN)
    assert mark.value >= 1
    assert mark in marks_of(finding.evidence.as_json())


WITHOUT_ROOT = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], set[str]]:
    """The runs among the machine's sockets with this word in their names: tests beside this one
    have runs too."""

    def look(word: str) -> set[str]:
        sockets = Path("/proc/net/unix").read_text().splitlines(keepends=True)
        chosen = tmp_path / "sockets"
        chosen.write_text("".join(line for line in sockets if word in line))
        monkeypatch.setattr(neighbours, "_SOCKETS", chosen)
        return others()

    return look


def test_a_run_without_root_is_seen_too(only: Callable[[str], set[str]]) -> None:
    """It has process ids and files of its own, but the machine's network namespace."""
    if subprocess.run([*WITHOUT_ROOT, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this kernel gives no user namespaces here")
    python = [sys.executable, "-c", OTHER]
    with subprocess.Popen(
        [*WITHOUT_ROOT, *python], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        processes = Path(f"/proc/{other.pid}/ns/pid_for_children").stat().st_ino
        # Its id there: none that is seen outside was passed to it.
        assert only(f".{processes}.") == {"process 1"}
        other.stdin.close()
    assert only(f".{processes}.") == set()


def test_a_stranger_s_socket_is_no_run(only: Callable[[str], set[str]]) -> None:
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as another:
        one.bind("\0culvert-run.1.2.nothing")
        another.bind("\0not-culvert-run.1.2.00000000")
        assert only("culvert-run.1.2.") == set()
        assert len(neighbours._SOCKETS.read_text().splitlines()) == 2


def test_a_run_does_not_see_itself(only: Callable[[str], set[str]]) -> None:
    with announced():
        assert only(f".{os.getpid()}.") == set()
        assert neighbours._SOCKETS.read_text()


@pytest.mark.parametrize(
    ("code", "words", "by_another"),
    [
        (None, "ended", False),
        (0, "ended (exit code 0)", False),
        (3, "ended (exit code 3)", False),
        (-signal.SIGKILL, "was killed (SIGKILL)", True),
        (-signal.SIGTERM, "was killed (SIGTERM)", True),
        (-signal.SIGSEGV, "crashed (SIGSEGV)", False),
        (-200, "ended (exit code -200)", False),
    ],
)
def test_how_a_process_ended(code: int | None, words: str, by_another: bool) -> None:
    assert how_ended(code) == words
    assert ("another program" in remedy_for(code, otherwise="see its log")) is by_another

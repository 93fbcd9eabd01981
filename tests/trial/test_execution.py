"""Trials on real VPNs in real namespaces: what is sound counts, what is not does not."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from ipaddress import IPv4Network
from pathlib import Path as Files
from typing import cast

import pytest

from culvert.errors import LabError, VpnError
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.machine.cgroup import hierarchy
from culvert.measurements.base import BaseParameters
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.graph import Path
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.none import NoVpn
from culvert.vpns.variant import Missing
from culvert.vpns.vxlan import Vxlan
from culvert.vpns.wireguard.driver import WireGuard
from tests.checks import failed_check
from tests.here import HERE
from tests.run.cells import SHORT, execute, measure, value, vpn

pytestmark = pytest.mark.lab
REAL = ("wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm")


def skip_if_missing(word: str) -> None:
    missing = vpn(word).missing(HERE)
    if missing:
        pytest.skip(f"{word}: {missing[0].what} is missing; {missing[0].remedy}")


@pytest.mark.parametrize("kind", SHORT)
def test_the_baseline_counts(kind: str) -> None:
    finding = execute(vpn("none"), kind)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert finding.evidence.proved


@pytest.mark.vpn
@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize("word", REAL)
def test_real_vpns_count(word: str, kind: str) -> None:
    skip_if_missing(word)
    finding = execute(vpn(word), kind)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert finding.evidence.proved
    assert finding.version


@pytest.mark.vpn
@pytest.mark.parametrize("word", REAL)
def test_routed_and_rate_limited(word: str) -> None:
    skip_if_missing(word)
    spec = LabSpec(topology=routed(), link=LinkSpec(rate_bps=50_000_000))
    finding = execute(vpn(word), "tcp", spec)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert 0 < value(finding, "goodput_bps") < 50_000_000


@pytest.mark.vpn
def test_offloads_on_are_reconciled_by_bounds() -> None:
    skip_if_missing("wireguard/go")
    finding = execute(vpn("wireguard/go"), "tcp", LabSpec(link=LinkSpec(offloads=True)))
    assert (finding.status, finding.reason) == (Status.OK, "")


def test_small_packets_are_what_they_say() -> None:
    finding = execute(vpn("none"), "udp64")
    assert value(finding, "packet_size_bytes") == 64
    payload_bits = 8 * 36
    rates = value(finding, "goodput_bps"), value(finding, "received_pps")
    assert rates[0] == pytest.approx(rates[1] * payload_bits)


@pytest.mark.vpn
@pytest.mark.parametrize(
    ("word", "payload"), [("none", 1472), ("wireguard/go", 1392)], ids=["none", "wireguard"]
)
def test_the_maximum_is_that_of_dekker2020s_table_3(word: str, payload: int) -> None:
    skip_if_missing(word)
    assert value(execute(vpn(word), "udp"), "packet_size_bytes") - 28 == payload


def test_loss_is_accounted_for_to_the_packet() -> None:
    finding = execute(vpn("none"), "udp", LabSpec(link=LinkSpec(rate_bps=10_000_000)))
    assert finding.status is Status.OK
    lost = value(finding, "offered_packets") - value(finding, "received_packets")
    places = ("socket", "qdisc", "tunnel")
    located = sum(value(finding, f"lost_in_{place}") for place in places)
    located += value(finding, "lost_on_link") + value(finding, "lost_unattributed")
    assert lost > 0
    assert located == lost
    assert value(finding, "lost_in_qdisc") > 0.9 * lost


@pytest.mark.parametrize("kind", SHORT)
def test_a_tunnel_that_encrypts_nothing_is_invalid(kind: str) -> None:
    skip_if_missing("vxlan/plain")
    finding = execute(vpn("vxlan/plain"), kind)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name.startswith("no clear text on the underlay")
    assert finding.remedy


class AroundTheTunnel(WireGuard):
    """WireGuard whose route leads beside it."""

    def listen(self, b: Node) -> None:
        super().listen(b)
        self.peer = b.underlay.address.ip

    def connect(self, a: Node) -> None:
        super().connect(a)
        with suppress(LabError):  # of the cold start before
            a.add_route(IPv4Network("198.19.0.2/32"), gateway=self.peer)


@pytest.mark.vpn
@pytest.mark.parametrize("kind", SHORT)
def test_broken_routes_are_invalid(kind: str) -> None:
    skip_if_missing("wireguard/go")
    finding = execute(AroundTheTunnel(WireGuard.variants[0]), kind)
    assert finding.status is Status.INVALID
    assert "canary" in finding.reason or "tunnel" in finding.reason
    assert not finding.evidence.proved


class PretendsKernel(WireGuard):
    """Says that it is in the kernel, as a VPN does that fell back in silence."""

    @property
    def data_path(self):  # type: ignore[no-untyped-def]
        from culvert.vpns.variant import DataPath  # noqa: PLC0415

        return DataPath.KERNEL


@pytest.mark.vpn
def test_a_silent_fallback_to_user_space_is_invalid() -> None:
    skip_if_missing("wireguard/go")
    finding = execute(PretendsKernel(WireGuard.variants[0]), "rtt")
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "data path"


class DiesInTheMiddle(WireGuard):
    """Its process is killed while it is measured."""

    def connect(self, a: Node) -> None:
        super().connect(a)
        process = self.processes["a"][0]

        def kill() -> None:
            if process.alive():
                os.kill(process.pid, signal.SIGKILL)

        threading.Timer(0.2, kill).start()


@pytest.mark.vpn
@pytest.mark.parametrize("kind", ["tcp", "udp", "rtt"])
def test_a_vpn_that_dies_in_the_middle_gives_no_number(kind: str) -> None:
    skip_if_missing("wireguard/go")
    finding = execute(DiesInTheMiddle(WireGuard.variants[0]), kind)
    assert finding.status in (Status.FAILED, Status.INVALID)
    assert finding.reason
    assert finding.remedy


def freezing(kind: str, word: str, number: int) -> tuple[TrialFinding, list[int]]:
    """A trial in whose middle a VPN's process gets that signal; the finding and the process id."""
    contestant, (measurement, chosen) = vpn(word), SHORT[kind]
    signalled = []

    class Freezing(measurement):  # type: ignore[misc,valid-type]
        def run(self, session: Session, parameters: BaseParameters) -> Outcome:
            process = contestant.processes["b"][0]

            def freeze() -> None:
                os.kill(process.pid, number)
                signalled.append(process.pid)

            timer = threading.Timer(0.25, freeze)
            timer.start()
            try:
                return cast(Outcome, super().run(session, parameters))
            finally:
                timer.cancel()

    return measure(contestant, Freezing(), chosen), signalled


ONCE_EACH = list(zip(REAL, ("tcp", "udp", "rtt"), strict=True))
OF_EACH = [
    pytest.param(word, kind, marks=[] if (word, kind) in ONCE_EACH else pytest.mark.long)
    for word in REAL
    for kind in ("tcp", "udp", "rtt")
]


@pytest.mark.vpn
@pytest.mark.parametrize(("word", "kind"), OF_EACH)
def test_a_vpn_that_is_stopped_in_the_middle_has_failed(word: str, kind: str) -> None:
    skip_if_missing(word)
    finding, (pid,) = freezing(kind, word, signal.SIGSTOP)
    assert finding.status is Status.FAILED
    assert f"is stopped (process {pid}: SIGSTOP" in finding.reason
    assert "stops processes" in finding.remedy
    assert not Files(f"/proc/{pid}").exists()


@pytest.mark.vpn
def test_a_vpn_that_is_moved_to_another_control_group_has_failed() -> None:
    """It may be starved there; all else looks sound."""
    skip_if_missing("wireguard/go")
    where = hierarchy()
    if where is None:
        pytest.skip("no control groups for processors here")
    contestant, (measurement, chosen) = vpn("wireguard/go"), SHORT["rtt"]
    group = where.path / f"strangers-{os.getpid()}"

    class Moving(measurement):  # type: ignore[misc,valid-type]
        def run(self, session: Session, parameters: BaseParameters) -> Outcome:
            outcome = cast(Outcome, super().run(session, parameters))
            (group / "cgroup.procs").write_text(str(contestant.processes["b"][0].pid))
            return outcome

    group.mkdir()
    try:
        finding = measure(contestant, Moving(), chosen)
    finally:
        group.rmdir()
    assert finding.status is Status.FAILED
    assert f"was moved to the control group /{group.name}" in finding.reason
    assert "moves processes" in finding.remedy


@pytest.mark.vpn
def test_a_tunnel_that_is_cut_at_the_end_is_invalid() -> None:
    """All its processes run, and the figures are sound; but it carries nothing any more."""
    skip_if_missing("wireguard/go")
    measurement, chosen = SHORT["rtt"]

    class Cutting(measurement):  # type: ignore[misc,valid-type]
        def run(self, session: Session, parameters: BaseParameters) -> Outcome:
            outcome = cast(Outcome, super().run(session, parameters))
            session.target.set_link(session.vpn.interface(session.target), up=False)
            return outcome

    finding = measure(vpn("wireguard/go"), Cutting(), chosen)
    assert finding.status is not Status.OK
    assert finding.reason
    assert finding.remedy


class NeverUp(NoVpn):
    """Refuses to come up."""

    def reach(self, path: Path) -> None:
        raise VpnError("never-up", "no answer to its handshake", "look at the firewall")


def test_a_vpn_that_never_comes_up_has_failed_with_its_reason() -> None:
    finding = execute(NeverUp(NoVpn.variants[0]), "tcp")
    assert finding.status is Status.FAILED
    assert "no answer to its handshake" in finding.reason
    assert finding.remedy == "look at the firewall"


class NotInstalled(Vxlan):
    """Lacks its program."""

    def missing(self, host: Host) -> list[Missing]:
        return [Missing.to_install("program ipsec-unheard-of", "unheard-of")]


def test_what_is_not_installed_is_unsupported_with_the_remedy() -> None:
    finding = execute(NotInstalled(Vxlan.variants[0]), "tcp")
    assert finding.status is Status.UNSUPPORTED
    assert "ipsec-unheard-of" in finding.reason
    assert finding.remedy == "culvert install unheard-of"


@pytest.mark.vpn
@pytest.mark.parametrize("word", REAL)
def test_a_cold_start_costs_cpu_at_both_ends(word: str) -> None:
    skip_if_missing(word)
    finding = execute(vpn(word), "initiation")
    used = {
        metric.labels["node"]
        for metric in finding.outcome.metrics
        if metric.name == "cpu_process_s"
        and metric.labels["process"] != "probe"
        and metric.value > 0
    }
    assert used == {"a", "b"}
    labelled = [(m.name, tuple(sorted(m.labels.items()))) for m in finding.outcome.metrics]
    assert len(labelled) == len(set(labelled))


def test_cpu_and_its_owners_are_in_every_traffic_trial() -> None:
    finding = execute(vpn("none"), "tcp")
    names = {metric.name for metric in finding.outcome.metrics}
    assert {"cpu_s_per_gb", "cpu_percent", "cpu_probe_s", "core_softirq_s"} <= names

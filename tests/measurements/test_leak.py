"""What leaves beside a tunnel: nothing, everything, and what is planted."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.measurements.leak import leak
from culvert.measurements.leak.leak import Leak, LeakParameters
from culvert.measurements.leak.phases import Phase, Run, Suspend, action_for
from culvert.measurements.leak.resolver import PROGRAM, Libc
from culvert.measurements.leak.watched import Watched, silent
from culvert.probe.results import FlowTally, LeakedPacket, LeakKind, Leaks
from culvert.results import Status
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from culvert.vpns.abilities import Resuming
from culvert.vpns.variant import Carried
from tests.here import HERE
from tests.measurements.leaking import (
    after,
    gap_in_the_route,
    leaked,
    no_ipv6,
    one_query,
    planting,
    router_advertisement,
)
from tests.run.cells import measure, value, vpn
from tests.vpns.tunnels import installed

EVENT_NS = 1_000_000_000
KILL_SWITCHES = (
    "wireguard/go+killswitch",
    pytest.param("openvpn/aes-256-gcm+killswitch", marks=pytest.mark.long),
    pytest.param("strongswan/esp-aes128gcm+killswitch", marks=pytest.mark.long),
    installed("headscale/direct+killswitch", pytest.mark.long),
    installed("headscale/relay+killswitch", pytest.mark.long),
    installed("sing-box/hysteria2+killswitch", pytest.mark.long),
    installed("sing-box/vless+killswitch", pytest.mark.long),
)


def packet(kind: LeakKind, after_ms: float, length: int = 100) -> LeakedPacket:
    at_ns = EVENT_NS + round(1e6 * after_ms)
    return LeakedPacket(kind=kind, realtime_ns=at_ns, bytes=length)


def watched(*packets: LeakedPacket, up_before: bool = True) -> dict[tuple[str, str], float]:
    found = Leaks(
        tunnel_packets=9,
        leaked=list(packets),
        more_leaked=0,
        kernel_drops=0,
    )
    tally = {"udp": FlowTally(name="udp", attempts=50, answered=50)}
    seen = Watched(found, tally, tally, EVENT_NS, EVENT_NS + 10**9, up_before)
    return {(each.name, each.labels.get("kind", "")): each.value for each in seen.metrics()}


def phases_of(word: str) -> list[Phase]:
    """Those that the VPN has."""
    resumes = isinstance(vpn(word), Resuming)
    return [phase for phase in Phase if resumes or phase is not Phase.RECONNECT]


def test_leaks_count_from_the_event_by_kind() -> None:
    figures = watched(
        packet(LeakKind.UDP, -5),
        packet(LeakKind.DNS, 2.5, 60),
        packet(LeakKind.TCP, 4),
        packet(LeakKind.DNS, 7, 61),
    )
    assert figures["leaked_packets", ""] == 3
    assert figures["leaked_packets", "dns"] == figures["clear_dns_queries", ""] == 2
    assert figures["leaked_bytes", "dns"] == 121
    assert (figures["first_leak_ms", ""], figures["last_leak_ms", ""]) == (2.5, 7)
    assert figures["first_leak_ms", "tcp"] == 4
    assert figures["leaked_before_packets", ""] == 1


def test_nothing_has_no_times_and_is_counted_by_each_kind() -> None:
    figures = watched()
    assert [figures["leaked_packets", kind] for kind in LeakKind] == [0] * len(LeakKind)
    assert ("first_leak_ms", "") not in figures


def test_a_proxy_answers_no_pings() -> None:
    unanswered = FlowTally(name="", attempts=9, answered=0)
    tallies = dict.fromkeys(("tcp", "icmp", "icmp6"), unanswered)
    assert silent(tallies, Carried.PACKETS) == ["tcp", "icmp"]
    assert silent(tallies, Carried.PAYLOAD) == ["tcp"]


def test_before_the_tunnel_is_up_everything_is_clear() -> None:
    assert ("leaked_before_packets", "") not in watched(up_before=False)


def test_each_phase_has_an_action_with_its_times() -> None:
    resolver = Libc(NetnsLab(new_run_id(), LabSpec()).a)
    actions = {phase: action_for(phase, resolver, 2.0, 60.0) for phase in Phase}
    assert len({type(action) for action in actions.values()}) == len(Phase)
    assert not actions[Phase.UP].up_before
    assert actions[Phase.SUSPEND] == Suspend(resolver, 2.0, 60.0)


def test_the_estimate_has_the_time_of_the_sleep() -> None:
    run, suspend = (
        LeakParameters.model_validate({"phase": phase}) for phase in (Phase.RUN, Phase.SUSPEND)
    )
    assert Leak.estimate_s(suspend) - Leak.estimate_s(run) == suspend.suspend_s == 60


@pytest.mark.lab
def test_the_baseline_leaks_everything() -> None:
    finding = after("none", "run")
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert leaked(finding).keys() == {"dns", "tcp", "udp", "icmp", "ipv6"}
    assert value(finding, "clear_dns_queries") > 0


@pytest.mark.lab
@pytest.mark.parametrize(("ipv6", "status"), [(True, Status.INVALID), (False, Status.OK)])
def test_a_baseline_without_a_packet_of_ipv6_is_no_control_of_it(
    monkeypatch: pytest.MonkeyPatch, ipv6: bool, status: Status
) -> None:
    monkeypatch.setattr(Run, "require", no_ipv6)
    finding = after("none", "run", ipv6=ipv6)
    assert finding.status is status
    assert ("sees each kind of packet" in finding.reason) is ipv6


@pytest.mark.lab
def test_a_phase_that_cannot_be_has_its_reason() -> None:
    for phase in set(Phase) - {Phase.RUN}:
        finding = after("none", phase)
        assert finding.status is Status.UNSUPPORTED
        assert finding.reason == "none: it has no tunnel for this event"


@pytest.mark.lab
def test_a_vpn_that_is_no_default_route_has_its_reason() -> None:
    finding = after("vxlan/plain", "run")
    assert finding.status is Status.UNSUPPORTED
    assert "default route" in finding.reason


@pytest.mark.lab
def test_a_topology_without_a_public_host_has_its_reason() -> None:
    finding = measure(vpn("none"), Leak(), {}, LabSpec())
    assert finding.status is Status.UNSUPPORTED
    assert 'topology = "public"' in finding.remedy


@pytest.mark.lab
@pytest.mark.vpn
def test_a_kill_switch_without_effect_is_refused() -> None:
    finding = measure(vpn("wireguard/go+killswitch"), Leak(), {}, LabSpec())
    assert finding.status is Status.UNSUPPORTED
    assert "+killswitch has no effect" in finding.reason


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
@pytest.mark.parametrize("word", KILL_SWITCHES)
def test_a_kill_switch_leaks_nothing_in_any_phase(word: str) -> None:
    for phase in phases_of(word):
        finding = after(word, phase)
        assert (finding.status, finding.reason, phase) == (Status.OK, "", phase)
        assert (leaked(finding), phase) == ({}, phase)
        if phase is not Phase.UP:
            assert value(finding, "leaked_before_packets") == 0


@pytest.mark.lab
@pytest.mark.vpn
def test_a_watch_that_ends_before_the_first_answers_is_valid() -> None:
    finding = after("strongswan/esp-aes128gcm+killswitch", "up", hold="1ms")
    assert (finding.status, finding.reason, leaked(finding)) == (Status.OK, "", {})


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(
    "word",
    [
        "wireguard/go",
        "openvpn/aes-256-gcm",
        "strongswan/esp-aes128gcm",
        installed("headscale/direct"),
        installed("sing-box/hysteria2"),
    ],
)
@pytest.mark.parametrize("phase", ["kill", "stop"])
def test_without_a_kill_switch_a_client_that_ends_leaks(word: str, phase: str) -> None:
    finding = after(word, phase)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert leaked(finding).keys() >= {"dns", "udp", "icmp"}
    assert value(finding, "last_leak_ms") > value(finding, "first_leak_ms") > 0


@pytest.mark.lab
@pytest.mark.vpn
def test_a_tunnel_that_runs_leaks_nothing() -> None:
    finding = after("wireguard/go", "run")
    assert (finding.status, finding.reason, leaked(finding)) == (Status.OK, "", {})


@pytest.mark.lab
@pytest.mark.vpn
def test_a_resolver_on_the_link_is_asked_beside_the_tunnel() -> None:
    finding = after("wireguard/go", "resolver")
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert leaked(finding).keys() == {"dns"}


def datagrams_sent(node: Node) -> int:
    _, numbers = (line for line in node.text("/proc/net/snmp").splitlines() if "Udp:" in line)
    return int(numbers.split()[4])


@pytest.mark.lab
def test_the_applications_are_silent_before_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []

    def counted(session: Session) -> None:
        before = datagrams_sent(session.source)
        time.sleep(0.3)
        sent.append(datagrams_sent(session.source) - before)

    monkeypatch.setattr(leak, "fall_silent", counted)
    finding = after("none", "run")
    assert (finding.status, finding.reason, sent) == (Status.OK, "", [0])


@pytest.mark.lab
@pytest.mark.vpn
def test_a_tunnel_without_ipv6_leaks_it() -> None:
    assert leaked(after("strongswan/esp-aes128gcm", "run")).keys() == {"ipv6"}
    assert leaked(after("strongswan/esp-aes128gcm", "run", ipv6=False)) == {}


RESOLVED = {"resolver": "systemd-resolved"}
HAS_RESOLVED = HERE.find(PROGRAM) is not None
with_resolved = pytest.mark.skipif(not HAS_RESOLVED, reason="no systemd-resolved here")


@pytest.mark.lab
@pytest.mark.skipif(HAS_RESOLVED, reason="systemd-resolved is here")
def test_without_systemd_resolved_the_trial_has_its_reason() -> None:
    finding = after("none", "run", **RESOLVED)
    assert finding.status is Status.UNSUPPORTED
    assert PROGRAM in finding.reason
    assert 'resolver = "libc"' in finding.remedy


@pytest.mark.lab
@with_resolved
def test_names_by_systemd_resolved_leak_without_a_tunnel() -> None:
    finding = after("none", "run", **RESOLVED)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "clear_dns_queries") > 0
    (check,) = (one for one in finding.evidence.checks if "systemd-resolved" in one.name)
    assert "systemd" in check.detail
    assert "127.0.0.53" in check.detail


@pytest.mark.lab
@pytest.mark.vpn
@with_resolved
def test_systemd_resolved_asks_the_resolver_of_the_link_beside_the_tunnel() -> None:
    running = after("wireguard/go", "run", **RESOLVED)
    assert (running.status, running.reason, leaked(running)) == (Status.OK, "", {})
    assert leaked(after("wireguard/go", "resolver", **RESOLVED)).keys() == {"dns"}


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
@with_resolved
@pytest.mark.parametrize("word", KILL_SWITCHES)
def test_with_systemd_resolved_a_kill_switch_leaks_nothing_in_any_phase(word: str) -> None:
    for phase in phases_of(word):
        finding = after(word, phase, **RESOLVED)
        assert (finding.status, finding.reason, phase) == (Status.OK, "", phase)
        assert (leaked(finding), phase) == ({}, phase)


PLANTED = [
    pytest.param("wireguard/go", one_query, "dns", {}, id="one-query"),
    pytest.param("wireguard/go", gap_in_the_route, "udp", {}, id="gap"),
    pytest.param(
        "strongswan/esp-aes128gcm",
        router_advertisement,
        "ipv6",
        {"ipv6": False, "hold": "2s"},
        id="router-advertisement",
    ),
]
"""The VPN, what is planted, the kind that it leaks, and parameters."""


ROUNDS = [pytest.param(3, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.long)]


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize(("word", "plant", "kind", "parameters"), PLANTED)
def test_a_planted_leak_is_found_each_time(
    monkeypatch: pytest.MonkeyPatch,
    word: str,
    plant: Callable[[Session], None],
    kind: str,
    parameters: dict[str, object],
    rounds: int,
) -> None:
    planting(monkeypatch, plant)
    for _ in range(rounds):
        finding = after(word, "run", **parameters)
        assert (finding.status, finding.reason) == (Status.OK, "")
        assert value(finding, "leaked_before_packets") == 0
        found = leaked(finding)
        assert kind in found
        if plant is one_query:
            assert found == {"dns": 1}
        if plant is router_advertisement:
            assert found.keys() == {"ipv6"}

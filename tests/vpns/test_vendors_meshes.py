"""NetBird, ZeroTier and Netmaker with their real programs: every path of three members, and the
host's files.

Their programs are in no registry: without them these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path as File

import pytest

from culvert.errors import VpnError
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.acl.acl import Acl
from culvert.measurements.tunnel.failover import received_packets
from culvert.results import Status
from culvert.runid import new_run_id
from culvert.topology.graph import Path, Role
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, serving
from culvert.topology.spec import LabSpec
from culvert.vpns.abilities import Protocol
from culvert.vpns.contract.observe import node_state, pings_answered
from culvert.vpns.lifecycle import bring_up, serve_all
from culvert.vpns.mesh import MeshVpn
from culvert.vpns.netbird.driver import NetBird
from culvert.vpns.variant import DIRECT
from tests.run.cells import execute, measure

from .tunnels import driver, skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn, pytest.mark.slow]
WORDS = [
    "netmaker",
    "netbird/direct",
    "netbird/relay",
    "zerotier/direct",
    "zerotier/relay",
    "zerotier/tcp-relay",
]
PINGS = 50
MESH = LabSpec(mesh(2), LinkSpec(rate_bps=30_000_000_000))
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""
BESIDE = 20
"""Packets that a relay may get meanwhile: keepalives."""
OF_THE_HOST = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/iproute2/rt_tables",
    "/etc/ssh",
    "/etc/netbird",
    "/etc/netclient",
    "/var/lib/netbird",
    "/var/lib/zerotier-one",
    "/run/netbird.sock",
    "/run/wireguard",
)


@dataclass(frozen=True)
class Up:
    """A mesh of three members with all paths up, and the host's files before it."""

    vpn: MeshVpn
    lab: NetnsLab
    host: dict[str, object]


def of_the_host() -> dict[str, object]:
    """Files with their content, directories with the names in them."""
    found: dict[str, object] = {}
    for name in OF_THE_HOST:
        for path in (File(name), *sorted(File(name).rglob("*"))):
            is_file = path.is_file()
            found[str(path)] = path.read_bytes() if is_file else path.exists()
    return found


def made(word: str) -> MeshVpn:
    """The driver, or a skip."""
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    vpn = driver(word)
    assert isinstance(vpn, MeshVpn)
    return vpn


@pytest.fixture(scope="module", params=WORDS)
def up(request: pytest.FixtureRequest) -> Iterator[Up]:
    vpn = made(request.param)
    paths = [Path(*ends) for ends in permutations("abc", 2)]
    before = of_the_host()
    with NetnsLab(new_run_id(), LabSpec(serving(mesh(3, paths=paths), vpn.needs))) as lab:
        try:
            vpn.prepare(lab)
            bring_up(vpn)
            yield Up(vpn, lab, before)
        finally:
            vpn.stop(lab)
    assert of_the_host() == before


def test_each_path_has_the_claimed_route(up: Up) -> None:
    for path in up.vpn.paths:
        assert up.vpn.determine_route(path) == up.vpn.route(path)


def test_packets_cross_the_relay_as_claimed(up: Up) -> None:
    relay = up.vpn.relay if up.lab.of_role(Role.RELAY) else up.vpn.control
    for path in up.vpn.paths:
        source, target = up.lab.ends(path)
        before = received_packets(relay)
        assert pings_answered(source, up.vpn.inner(target).ip, count=PINGS) == PINGS
        crossed = received_packets(relay) - before
        if up.vpn.route(path) == DIRECT:
            assert crossed <= BESIDE
        else:
            assert crossed >= 2 * PINGS  # the request and the answer


def test_the_hosts_files_are_as_before(up: Up) -> None:
    assert of_the_host() == up.host


@pytest.mark.parametrize("word", WORDS)
def test_a_trial_is_proved(word: str) -> None:
    finding = execute(made(word), "tcp", MESH)
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.parametrize("word", ["netbird/direct", "zerotier/direct"])
def test_a_policy_permits_and_forbids_what_it_states(word: str) -> None:
    finding = measure(made(word), Acl(), {}, MESH)
    assert (finding.status, finding.reason) == (Status.OK, "")
    shares = {
        (metric.name, metric.labels["protocol"]): metric.value
        for metric in finding.outcome.metrics
        if "protocol" in metric.labels
    }
    for protocol in Protocol:
        assert shares["permitted_share", protocol] == 1, protocol
        assert shares["forbidden_share", protocol] == 0, protocol


def test_a_free_netmaker_has_no_policy_of_protocols() -> None:
    finding = measure(made("netmaker"), Acl(), {}, MESH)
    assert finding.status is Status.UNSUPPORTED
    assert "not protocols or ports" in finding.reason


@pytest.mark.parametrize(
    ("word", "reason"),
    [("netbird/relay", r"0 of \d relays"), ("zerotier/relay", "REQUESTING_CONFIGURATION")],
)
def test_a_relay_that_is_gone_is_named_within_the_deadline(word: str, reason: str) -> None:
    vpn = made(word)
    with NetnsLab(new_run_id(), LabSpec(serving(mesh(2), vpn.needs))) as lab:
        try:
            vpn.prepare(lab)
            serve_all(vpn)
            vpn.crash(vpn.relay)
            vpn.up_deadline_s = 5.0
            with pytest.raises(VpnError, match=reason):
                vpn.join(lab.a)
        finally:
            vpn.stop(lab)


@pytest.mark.parametrize("word", ["netbird/direct", "zerotier/direct"])
def test_nothing_is_left_on_a_member_whose_daemon_is_killed(word: str) -> None:
    vpn = made(word)
    with NetnsLab(new_run_id(), LabSpec(serving(mesh(2), vpn.needs))) as lab:
        before = {node.name: node_state(node) for node in lab.members}
        try:
            vpn.prepare(lab)
            bring_up(vpn)
            up = node_state(lab.a).left_since(before["a"])
            vpn.crash(lab.a)
        finally:
            vpn.stop(lab)
        if word == "netbird/direct":
            assert "left: nft table ip culvert" in up
        for node in lab.members:
            assert node_state(node).left_since(before[node.name]) == [], node.name


def test_a_wrong_setup_key_is_named() -> None:
    vpn = made("netbird/direct")
    assert isinstance(vpn, NetBird)
    with NetnsLab(new_run_id(), LabSpec(serving(mesh(2), vpn.needs))) as lab:
        try:
            vpn.prepare(lab)
            serve_all(vpn)
            vpn.up_deadline_s = 5.0
            vpn.setup_key = "00000000-0000-0000-0000-000000000000"
            with pytest.raises(VpnError, match=r"did not join.*setup key"):
                vpn.join(lab.a)
        finally:
            vpn.stop(lab)

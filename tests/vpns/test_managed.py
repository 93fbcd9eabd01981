"""Meshes of WireGuard that another program manages: direct, and nothing outside a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

import pytest

from culvert.errors import NotPossible, VpnError
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.measurements.mesh.convergence import Convergence
from culvert.measurements.tunnel.reachability import Reachability
from culvert.results import Status
from culvert.runid import new_run_id
from culvert.topology.graph import Path
from culvert.topology.shapes import mesh, serving
from culvert.topology.spec import LabSpec
from culvert.vpns import innernet, wesher
from culvert.vpns.abilities import pairs
from culvert.vpns.base import Vpn
from culvert.vpns.contract import check
from culvert.vpns.contract.observe import pings_answered
from culvert.vpns.facts import ProgramEnded
from culvert.vpns.lifecycle import join_all, serve_all
from culvert.vpns.variant import DIRECT
from tests.here import HERE
from tests.run.cells import by_node, execute, measure, value

from .tunnels import bring_up, driver, planned, skip_reason

WORDS = ("innernet", "wesher")
SHARED = ("/etc/hosts", "/etc/resolv.conf")
"""Files that these programs write, or could."""
FIXED = ("/var/lib/wesher", "/var/lib/innernet", "/var/lib/innernet-server", "/etc/innernet")
_BLOCK = """\
table ip block {{
  chain between {{
    type filter hook forward priority filter;
    ip saddr {a} ip daddr {b} meta l4proto udp drop
    ip saddr {b} ip daddr {a} meta l4proto udp drop
  }}
}}
"""
pytestmark = [pytest.mark.lab, pytest.mark.vpn]


def of(word: str) -> Vpn:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    return driver(word)


def lab_for(vpn: Vpn, members: int) -> NetnsLab:
    return NetnsLab(new_run_id(), LabSpec(topology=serving(mesh(members), vpn.needs)))


@dataclass
class Up:
    vpn: Vpn
    lab: NetnsLab
    shared: dict[str, bytes]


@pytest.fixture(scope="module", params=WORDS)
def up(request: pytest.FixtureRequest) -> Iterator[Up]:
    """One mesh of three for the tests that change nothing."""
    vpn = of(request.param)
    shared = {name: FilePath(name).read_bytes() for name in SHARED}
    with lab_for(vpn, 3) as lab:
        assert isinstance(lab, NetnsLab)
        bring_up(vpn, lab)
        yield Up(vpn, lab, shared)
        vpn.stop(lab)


def test_weshers_contract_holds_on_a_mesh_too() -> None:
    # Of a VPN without servers the contract is checked on a pair.
    vpn = of("wesher")
    assert check(lambda: driver("wesher"), lambda: lab_for(vpn, 2)) == []


def test_every_pair_is_direct(up: Up) -> None:
    for path in pairs(up.vpn):
        up.vpn.reach(path)
        assert up.vpn.determine_route(path) == DIRECT
        source, target = up.lab.ends(path)
        assert pings_answered(source, up.vpn.inner(target).ip) > 0


def test_what_the_programs_write_stays_on_their_nodes(up: Up) -> None:
    assert {name: FilePath(name).read_bytes() for name in SHARED} == up.shared
    assert [path for path in FIXED if FilePath(path).exists()] == []


def test_the_version_has_that_of_what_carries_the_data(up: Up) -> None:
    own, _, data = up.vpn.version(HERE).partition(", wireguard-go ")
    assert own[:1] in "v012"
    assert data.startswith("v0.0.0-")


@pytest.mark.parametrize("word", WORDS)
def test_a_trial_counts_and_its_path_is_direct(word: str) -> None:
    finding = execute(of(word), "rtt", LabSpec(topology=mesh(2)))
    assert (finding.status, finding.reason) == (Status.OK, "")
    (route,) = {
        check.figures["found"]
        for check in finding.evidence.checks
        if check.name.startswith("the path's route")
    }
    assert route == "direct"


@pytest.mark.parametrize("word", WORDS)
def test_managed_members_converge(word: str) -> None:
    finding = measure(of(word), Convergence(), {}, LabSpec(topology=mesh(4)))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert (value(finding, "pairs"), value(finding, "direct_pairs")) == (6, 6)
    assert value(finding, "member_control_bytes") > 0
    servers = by_node(finding, "server_control_bytes")
    assert len(servers) == len(driver(word).needs)
    assert all(each > 0 for each in servers.values())


@pytest.mark.parametrize("word", WORDS)
def test_without_udp_between_two_members_there_is_no_path(word: str) -> None:
    vpn = of(word)
    with lab_for(vpn, 2) as lab:
        a, b = (node.underlay.address.ip for node in (lab.a, lab.b))
        lab.nodes["core"].run(["nft", "-f", "-"], stdin=_BLOCK.format(a=a, b=b))
        vpn.prepare(lab)
        serve_all(vpn)
        join_all(vpn, lab.members)
        vpn.up_deadline_s = 8.0
        with pytest.raises(VpnError, match="answered a ping"):
            vpn.reach(Path("a", "b"))
        with pytest.raises(VpnError, match="no session with node b") as caught:
            vpn.determine_route(Path("a", "b"))
        assert "this VPN has no relay" in caught.value.remedy
        vpn.stop(lab)


SHORT = {"give_up": "8s", "settle": "1s", "duration": "500ms"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "blocked"), [("wesher", False), ("wesher", True), ("innernet", True)]
)
def test_a_member_without_udp_is_not_reached(word: str, *, blocked: bool) -> None:
    spec = LabSpec(topology=mesh(2, block_udp=["b"] if blocked else []))
    finding = measure(of(word), Reachability(), SHORT, spec)
    assert (finding.status, finding.reason) == (Status.OK, "")
    values = {metric.name: metric.value for metric in finding.outcome.metrics if not metric.labels}
    assert (values["direct"], values["no_path"]) == ((0, 1) if blocked else (1, 0))


def test_weshers_addresses_are_hashes_of_names() -> None:
    # FNV-1a of 128 bits, of "" and "a": http://www.isthe.com/chongo/tech/comp/fnv/
    assert wesher._hash(b"") == 0x6C62272E07BB014262B821756295C58D
    assert wesher._hash(b"a") == 0xD228CB696F1A8CAF78912B704E4A8964


def test_two_of_weshers_members_with_one_address_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vpn = planned("wesher")
    monkeypatch.setattr(wesher, "_hash", lambda name: 7)
    with pytest.raises(NotPossible, match="the same hash"):
        vpn.configure()


class Restarted(innernet.Innernet):
    """Its client ends as often as ``ends`` says before it stays; nothing is started."""

    ends = 0

    def start_device(self, node: Node) -> None: ...

    def _command(self, node: Node, name: str) -> list[str]:
        return [name]

    def _start(self, member: Node, argv: Sequence[str]) -> None:
        self.ends -= 1
        if self.ends >= 0:
            raise ProgramEnded("innernet", "the server did not answer", "try again")


@pytest.mark.parametrize(("ends", "joins"), [(0, True), (2, True), (3, False)])
def test_a_client_that_ends_is_started_again_a_few_times(ends: int, joins: bool) -> None:
    vpn = Restarted(innernet.Innernet.variants[0])
    vpn.ends = ends
    with NetnsLab(new_run_id(), LabSpec(topology=mesh(2))) as lab:
        if joins:
            vpn.join(lab.a)
            return
        with pytest.raises(ProgramEnded):
            vpn.join(lab.a)


def test_an_invitation_gets_a_port() -> None:
    text = '[interface]\nnetwork-name = "culvert"\n\n[server]\npublic-key = "x"\n'
    assert innernet._with_port(text, 7).startswith("[interface]\nlisten-port = 7\nnetwork-name")

"""Each kind of NAT, told from its packets as RFC 5780 does; tunnels over it; blocked UDP."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Interface

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.labs.router import firewall
from culvert.measurements.underlay.underlay import Underlay
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.nat import Nat, NatSide
from culvert.topology.plan import plan
from culvert.topology.shapes import routed
from culvert.topology.spec import Allowed, LabSpec
from tests.conftest import LabFactory
from tests.here import HERE
from tests.labs.traffic import tcp_pair
from tests.quiet import quiet
from tests.run.cells import execute, vpn

ENDPOINT_INDEPENDENT = "endpoint-independent"
ADDRESS_DEPENDENT = "address-dependent"
BOTH_DEPENDENT = "address and port-dependent"
BEHAVIOUR = {
    Nat.FULL_CONE: (ENDPOINT_INDEPENDENT, ENDPOINT_INDEPENDENT),
    Nat.ADDRESS_RESTRICTED: (ENDPOINT_INDEPENDENT, ADDRESS_DEPENDENT),
    Nat.PORT_RESTRICTED: (ENDPOINT_INDEPENDENT, BOTH_DEPENDENT),
    Nat.SYMMETRIC: (BOTH_DEPENDENT, BOTH_DEPENDENT),
}
"""Mapping and filtering by the words of RFC 4787."""
QUIET_S = 0.15

Server = Mapping[tuple[int, int], socket.socket]
"""Sockets by the number of their address and of their port, as a STUN server has them."""


def translating(kind: Nat, behind: str = "a") -> LabSpec:
    return LabSpec(topology=routed({behind: kind}))


def side(behind: str) -> NatSide:
    return plan(routed({behind: Nat.SYMMETRIC})).side("router")


def udp(node: NetnsNode, address: str, port: int = 0) -> socket.socket:
    made = node.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    made.settimeout(QUIET_S)
    made.bind((address, port))
    return made


@contextmanager
def server(node: NetnsNode) -> Iterator[Server]:
    """Two addresses with two ports each."""
    own = node.underlay.address
    other = IPv4Interface(f"{own.ip + 1}/{own.network.prefixlen}")
    node.add_address(node.underlay.device, other)
    with ExitStack() as stack:
        yield {
            (i, j): stack.enter_context(udp(node, str(address.ip), 3478 + j))
            for i, address in enumerate((own, other))
            for j in range(2)
        }


def seen(client: socket.socket, far: socket.socket) -> tuple[str, int]:
    """Who the server sees when the client sends."""
    client.sendto(b"who am I", far.getsockname())
    address: tuple[str, int] = far.recvfrom(100)[1]
    return address


def mapping_of(node: NetnsNode, far: Server) -> str:
    """RFC 5780, section 4.3."""
    with udp(node, str(node.underlay.address.ip)) as client:
        first, second, third = (seen(client, far[place]) for place in ((0, 0), (1, 0), (1, 1)))
    if first == second:
        return ENDPOINT_INDEPENDENT if second == third else BOTH_DEPENDENT
    return ADDRESS_DEPENDENT if second == third else BOTH_DEPENDENT


def filtering_of(node: NetnsNode, far: Server) -> str:
    """RFC 5780, section 4.4: whose answers arrive, but for the one that was asked."""
    with udp(node, str(node.underlay.address.ip)) as client:
        outside = seen(client, far[0, 0])

        def arrives_from(place: tuple[int, int]) -> bool:
            far[place].sendto(b"answer", outside)
            try:
                return client.recvfrom(100) == (b"answer", far[place].getsockname())
            except TimeoutError:
                return False

        assert arrives_from((0, 0)), "not even the answer that was asked for arrives"
        if arrives_from((1, 1)):
            return ENDPOINT_INDEPENDENT
        return ADDRESS_DEPENDENT if arrives_from((0, 1)) else BOTH_DEPENDENT


@pytest.mark.lab
@pytest.mark.parametrize("behind", ["a", "b"])
@pytest.mark.parametrize("kind", Nat)
def test_each_kind_behaves_as_rfc_4787_says(lab: LabFactory, kind: Nat, behind: str) -> None:
    made = lab(translating(kind, behind))
    node, peer = (made.a, made.b) if behind == "a" else (made.b, made.a)
    with server(peer) as far:
        with udp(node, str(node.underlay.address.ip)) as client:
            outside, _ = seen(client, far[0, 0])
        assert outside == str(side(behind).public)
        assert (mapping_of(node, far), filtering_of(node, far)) == BEHAVIOUR[kind]


@pytest.mark.lab
@pytest.mark.parametrize("kind", Nat)
def test_nobody_reaches_a_node_that_has_not_asked(lab: LabFactory, kind: Nat) -> None:
    made = lab(translating(kind))
    translated = side("a")
    with udp(made.a, str(translated.private), 5001) as waits, udp(made.b, "0.0.0.0") as calls:
        for address in (translated.private, translated.public):
            calls.sendto(b"hello", (str(address), 5001))
        with pytest.raises(TimeoutError):
            waits.recv(100)
    assert made.obstacles() == [
        "the router dropped 2 unsolicited packets to the node behind its NAT"
    ]


@pytest.mark.lab
def test_a_mapping_without_traffic_lives_for_five_minutes(lab: LabFactory) -> None:
    """Whether conntrack remembers it, as for a symmetric NAT, or the set of a cone's openings."""
    router = lab(translating(Nat.FULL_CONE)).nodes["router"]
    for name in ("udp_timeout", "udp_timeout_stream"):
        told = router.run(["cat", f"/proc/sys/net/netfilter/nf_conntrack_{name}"]).stdout
        assert told.strip() == "300"
    listed = router.run(["nft", "list", "set", "inet", firewall.TABLE, "openings"]).stdout
    assert "timeout 5m" in listed


@pytest.mark.lab
def test_tcp_passes_where_udp_is_blocked(lab: LabFactory) -> None:
    made = lab(LabSpec(topology=routed(block_udp=True)))
    with (
        udp(made.a, str(made.a.underlay.address.ip)) as near,
        udp(made.b, str(made.b.underlay.address.ip), 5001) as far,
    ):
        near.sendto(b"hello", far.getsockname())
        with pytest.raises(TimeoutError):
            far.recv(100)
    with tcp_pair(made.a, made.b) as (client, accepted):
        client.send(b"hello")
        assert accepted.recv(100) == b"hello"
    assert made.obstacles() == [
        "the router dropped 1 UDP packets, which this lab blocks (block_udp)"
    ]


@given(
    kind=st.sampled_from(Nat),
    behind=st.sampled_from("ab"),
    allowed=st.none() | st.just((Allowed("udp", frozenset({51820})),)),
    block_udp=st.booleans(),
)
def test_each_counter_that_a_rule_uses_is_declared(
    kind: Nat, behind: str, allowed: tuple[Allowed, ...] | None, block_udp: bool
) -> None:
    translated = (kind, side(behind))
    words = firewall.ruleset(allowed, translated, block_udp=block_udp).split()
    used = {words[i + 2] for i in range(len(words) - 2) if words[i : i + 2] == ["counter", "name"]}
    declared = {words[i + 1] for i, word in enumerate(words) if word == "counter"} - {"name"}
    assert used == declared


@pytest.mark.parametrize("behind", [("router",), ("a", "b")])
def test_what_no_router_can_do_is_refused(behind: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        routed(dict.fromkeys(behind, Nat.SYMMETRIC))
    assert caught.value.remedy


TUNNELS = ("wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm")


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("word", TUNNELS)
def test_who_calls_from_behind_a_nat_is_answered(word: str) -> None:
    contestant = vpn(word)
    if missing := contestant.missing(HERE):
        pytest.skip(missing[0].remedy)
    finding = quiet(lambda: execute(vpn(word), "rtt", translating(Nat.SYMMETRIC)))
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("word", ["wireguard/go", "openvpn/aes-256-gcm+tcp"])
def test_only_a_tunnel_over_tcp_passes_where_udp_is_blocked(word: str) -> None:
    contestant = vpn(word)
    if missing := contestant.missing(HERE):
        pytest.skip(missing[0].remedy)
    contestant.up_deadline_s = 1.5
    finding = execute(contestant, "rtt", LabSpec(topology=routed(block_udp=True)))
    if word.endswith("+tcp"):
        assert (finding.status, finding.reason) == (Status.OK, "")
    else:
        assert finding.status is Status.FAILED
        assert "UDP packets, which this lab blocks" in finding.reason


@pytest.mark.lab
def test_a_link_is_verified_without_what_the_router_does() -> None:
    one_way = OneWay(delay_ns=2_000_000)
    link = LinkSpec(kind="wire", impairment=Impairment.both(one_way))
    finding = quiet(
        lambda: Execution(
            vpn("none"),
            LabSpec(topology=routed({"a": Nat.SYMMETRIC}, block_udp=True), link=link),
            Underlay(),
            Underlay.Parameters.model_validate({"duration": "200ms"}),
            Tunnels(lambda asked: NetnsLab(new_run_id(), asked)),
        ).execute()
    )
    assert (finding.status, finding.reason) == (Status.OK, "")

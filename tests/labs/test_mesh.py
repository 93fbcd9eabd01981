"""A mesh on real nodes: who reaches whom over the core router, and from behind what."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.runid import new_run_id
from culvert.topology.graph import Role
from culvert.topology.nat import Nat
from culvert.topology.plan import PRIVATE, PUBLIC, TUNNELS, plan
from culvert.topology.shapes import mesh, serving, star
from culvert.topology.spec import LabSpec
from tests.conftest import LabFactory
from tests.labs.host import left_of, snapshot
from tests.labs.test_nat import seen, udp
from tests.labs.traffic import can_reach

pytestmark = pytest.mark.lab
TOPOLOGY = serving(
    mesh(
        4,
        nats={"a": [Nat.PORT_RESTRICTED], "b": [Nat.FULL_CONE, Nat.SYMMETRIC]},
        block_udp=["c"],
    ),
    [Role.CONTROL, Role.RELAY],
)
"""a behind a NAT, b behind two, c where UDP is blocked, d and the servers reachable by all."""
ENDS = ("a", "b", "c", "d", "control", "relay")
OPEN = {"d", "control", "relay"}


@pytest.fixture(scope="module")
def made() -> Iterator[NetnsLab]:
    """One for all tests here: they change nothing."""
    opened = NetnsLab(new_run_id(), LabSpec(topology=TOPOLOGY))
    with opened:
        yield opened


def pings(source: NetnsNode, address: IPv4Address) -> bool:
    done = source.run(["ping", "-c1", "-W0.2", str(address)], check=False)
    return done.returncode == 0


def test_packets_for_a_tunnel_do_not_follow_the_default_route(made: NetnsLab) -> None:
    address = str(TUNNELS[1])
    for name in ENDS:
        done = made.nodes[name].run(["ip", "route", "get", address], check=False)
        assert (done.returncode, done.stderr) == (2, "RTNETLINK answers: Network is unreachable\n")


def test_echoes_reach_whoever_is_behind_no_nat(made: NetnsLab) -> None:
    reached = {
        (source, target)
        for source in ENDS
        for target in ENDS
        if source != target and pings(made.nodes[source], made.nodes[target].underlay.address.ip)
    }
    public = OPEN | {"c"}
    assert reached == {(x, y) for x in ENDS for y in public if x != y}


def test_udp_reaches_whoever_is_behind_nothing_and_leaves_from_where_it_may(
    made: NetnsLab,
) -> None:
    reached = {
        (source, target)
        for source in ENDS
        for target in ENDS
        if source != target and can_reach(made.nodes[source], made.nodes[target], port=5001)
    }
    assert reached == {(x, y) for x in ENDS if x != "c" for y in OPEN if x != y}


@pytest.mark.parametrize(("node", "router"), [("a", "nata"), ("b", "cgnb")])
def test_who_is_behind_a_nat_is_seen_as_its_outermost_router_and_answered(
    made: NetnsLab, node: str, router: str
) -> None:
    client, server = made.nodes[node], made.nodes["d"]
    with (
        udp(client, str(client.underlay.address.ip)) as near,
        udp(server, str(server.underlay.address.ip), 3478) as far,
    ):
        outside = seen(near, far)
        far.sendto(b"answer", outside)
        assert near.recvfrom(100) == (b"answer", far.getsockname())
    assert IPv4Address(outside[0]) == plan(TOPOLOGY).side(router).public
    assert IPv4Address(outside[0]) in PUBLIC
    assert client.underlay.address.ip in PRIVATE


@pytest.mark.parametrize("router", ["nata", "cgnb"])
def test_nobody_reaches_who_is_behind_a_nat_by_its_public_address(
    made: NetnsLab, router: str
) -> None:
    side = plan(TOPOLOGY).side(router)
    hidden, caller = made.nodes[router[-1]], made.nodes["d"]
    assert not pings(caller, side.public)
    with (
        udp(hidden, str(hidden.underlay.address.ip), 5002) as waits,
        udp(caller, str(caller.underlay.address.ip)) as calls,
    ):
        calls.sendto(b"hello", (str(side.public), 5002))
        with pytest.raises(TimeoutError):
            waits.recv(100)


def test_every_node_has_its_role(made: NetnsLab) -> None:
    roles = {node.name: node.role for node in made.nodes.values()}
    assert roles == {
        **dict.fromkeys("abcd", Role.MEMBER),
        **dict.fromkeys(("nata", "natb", "cgnb", "fwc", "core"), Role.ROUTER),
        "control": Role.CONTROL,
        "relay": Role.RELAY,
    }
    assert [node.name for node in made.members] == [*"abcd"]
    assert [node.name for node in made.of_role(Role.RELAY, Role.CONTROL)] == ["control", "relay"]
    assert (made.a.name, made.b.name) == ("a", "b")


def test_routers_forward_and_nobody_else_does(made: NetnsLab) -> None:
    forwards = {
        node.name
        for node in made.nodes.values()
        if node.text("/proc/sys/net/ipv4/ip_forward") == "1"
    }
    assert forwards == {node.name for node in made.of_role(Role.ROUTER)}


def test_a_star_joins_all_clients_with_the_gateway(lab: LabFactory) -> None:
    opened = lab(LabSpec(topology=star(3, every_path=True)))
    gateway = opened.nodes["gateway"]
    for client in opened.of_role(Role.CLIENT):
        assert can_reach(opened.nodes[client.name], gateway, port=5001)
        assert can_reach(gateway, opened.nodes[client.name], port=5001)
    assert [opened.ends(path).source.name for path in opened.spec.topology.paths] == [
        "c1",
        "c2",
        "c3",
    ]


@pytest.mark.slow
def test_a_mesh_of_200_comes_up_and_leaves_nothing(lab: LabFactory) -> None:
    before = snapshot()
    large = lab(LabSpec(topology=mesh(200)))
    assert len(large.members) == 200
    first, last = large.nodes["a"], large.nodes["m200"]
    assert can_reach(first, last, port=5001)
    assert can_reach(last, first, port=5001)
    assert snapshot() == before
    large.close()
    assert left_of(large.run_id) == []
    assert snapshot() == before

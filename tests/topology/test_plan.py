"""Addresses and routes of every shape: unique, and each route leads over neighbours."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.topology.graph import Network, NodeSpec, Path, Role, Topology
from culvert.topology.ip import Address, IpVersion
from culvert.topology.nat import Nat
from culvert.topology.plan import (
    EVERYWHERE,
    PRIVATE,
    PUBLIC,
    PUBLIC_IPV6,
    Plug,
    UnderlayPlan,
    mac_of,
    plan,
)
from culvert.topology.shapes import mesh, routed, star
from tests.topology.drawn import topologies

CGNAT = mesh(3, nats={"b": (Nat.FULL_CONE, Nat.SYMMETRIC)})


def plugs(made: UnderlayPlan) -> list[Plug]:
    return [plug for cable in made.cables for plug in (cable.left, cable.right)]


def way(made: UnderlayPlan, source: str, target: Address) -> list[str]:
    """The nodes that a packet visits by each node's longest matching prefix; empty without a
    route, or where a gateway is no neighbour."""
    owners = {plug.attachment.reached_at.ip: plug.node for plug in plugs(made)}
    here, visited = source, [source]
    while len(visited) <= len(made.topology.nodes):
        own = [attachment.reached_at for attachment in made.attachments(here)]
        if target in [address.ip for address in own]:
            return visited
        if any(target in address.network for address in own):
            return [*visited, owners[target]]
        routes = [route for route in made.routes if route.node == here]
        fitting = [route for route in routes if target in route.destination]
        if not fitting:
            return []
        gateway = max(fitting, key=lambda route: route.destination.prefixlen).gateway
        if not any(gateway in address.network for address in own):
            return []
        here = owners[gateway]
        visited.append(here)
    return []


@given(topologies())
def test_addresses_are_for_benchmarks_or_private_and_differ(topology: Topology) -> None:
    made = plan(topology)
    addresses = [plug.attachment.address for plug in plugs(made)]
    assert len({address.ip for address in addresses}) == len(addresses)
    assert len({mac_of(address) for address in addresses}) == len(addresses)
    assert all(address.ip in PUBLIC or address.ip in PRIVATE for address in addresses)
    for cable in made.cables:
        subnet = cable.left.attachment.address.network
        assert subnet == cable.right.attachment.address.network
        assert cable.network.ends == (cable.left.node, cable.right.node)


@given(topologies())
def test_a_nodes_devices_are_numbered_and_the_first_is_its_underlay(topology: Topology) -> None:
    made = plan(topology)
    for node in topology.nodes:
        devices = [attachment.device for attachment in made.attachments(node.name)]
        assert devices == [f"u{number}" for number in range(len(devices))]
        (first, *_) = topology.networks_of(node.name)
        cable = next(cable for cable in made.cables if cable.network == first)
        assert cable.end(node.name).attachment == made.attachments(node.name)[0]


@given(topologies())
def test_everybodys_routes_lead_over_neighbours_to_every_public_address(
    topology: Topology,
) -> None:
    made = plan(topology)
    public = [plug for plug in plugs(made) if plug.attachment.address.ip in PUBLIC]
    for node in topology.nodes:
        for plug in public:
            visited = way(made, node.name, plug.attachment.address.ip)
            assert visited[:1] == [node.name]
            assert plug.node in visited[-2:] or node.name == plug.node


@given(topologies())
def test_what_is_behind_a_meshs_nat_is_private_and_nobody_has_a_route_there(
    topology: Topology,
) -> None:
    made = plan(topology)
    if topology.name == "mesh":
        behind = {node.name for node in topology.nodes if node.nat is not None}
        for cable in made.cables:
            hidden = cable.network.right in behind
            assert (cable.left.attachment.address.ip in PRIVATE) == hidden
    for route in made.routes:
        assert isinstance(route.destination, IPv4Network)
        assert route.destination == EVERYWHERE or route.destination.subnet_of(PUBLIC)


@given(topologies(), st.sampled_from(IpVersion))
def test_without_obstacles_everybody_reaches_everybody(
    topology: Topology, version: IpVersion
) -> None:
    made = plan(topology.unobstructed(), version)
    members = [node.name for node in topology.members]
    for source in members:
        for target in members:
            address = made.attachments(target)[0].reached_at.ip
            assert address.version == version
            assert way(made, source, address)[-1:] == [target]


@given(topologies())
def test_with_ipv6_all_routes_are_ipv6_and_each_network_has_a_subnet_of_its_own(
    topology: Topology,
) -> None:
    made = plan(topology.unobstructed(), IpVersion.V6)
    assert {route.gateway.version for route in made.routes} <= {6}
    addresses = [plug.attachment.ipv6 for plug in plugs(made)]
    assert len(set(addresses)) == len(addresses)
    subnets = {
        (cable.left.attachment.reached_at.network, cable.right.attachment.reached_at.network)
        for cable in made.cables
    }
    assert len(subnets) == len(made.cables)
    for left, right in subnets:
        assert left == right
        assert left.subnet_of(PUBLIC_IPV6)  # type: ignore[arg-type]  # the version is known above
    ipv4 = plan(topology.unobstructed())
    assert [plug.attachment.address for plug in plugs(ipv4)] == [
        plug.attachment.address for plug in plugs(made)
    ]
    assert {plug.attachment.ipv6 for plug in plugs(ipv4)} == {None}


@given(topologies())
def test_a_nat_translates_from_its_inner_side_to_its_outer_one(topology: Topology) -> None:
    made = plan(topology)
    for router in topology.nodes:
        if router.nat is None:
            continue
        side = made.side(router.name)
        own = {at.device: at.address for at in made.attachments(router.name)}
        inner = [
            attachment.address
            for attachment in made.attachments(router.inside)
            if attachment.address.network == own[side.inside].network
        ]
        assert [address.ip for address in inner] == [side.private]
        assert own[side.outside].ip == side.public
        assert side.private not in own[side.outside].network


def test_of_two_nats_in_a_row_the_outer_one_translates_for_the_inner_one() -> None:
    made = plan(CGNAT)
    own, provider = made.side("natb"), made.side("cgnb")
    assert own.private == made.attachments("b")[0].address.ip
    assert provider.private == own.public
    assert own.public in PRIVATE
    assert provider.public in PUBLIC


def test_a_routed_labs_nat_may_be_for_b() -> None:
    made = plan(routed({"b": Nat.SYMMETRIC}))
    assert made.side("router").private == made.attachments("b")[0].address.ip
    assert made.side("router").public == made.attachments("router")[0].address.ip


def test_a_host_behind_the_gateway_is_routed_by_it_and_is_not_its_underlay() -> None:
    made = plan(star(2, behind=True))
    (network,) = made.behind
    (host,) = made.attachments("behind")
    assert host.address.ip in network
    assert way(made, "c2", host.address.ip) == ["c2", "core", "gateway", "behind"]
    assert way(made, "behind", made.attachments("c2")[0].address.ip)[1:3] == ["gateway", "core"]
    assert made.attachments("gateway")[0].address.ip not in network
    assert plan(star(2)).behind == ()


def test_a_node_with_two_links_is_routed_by_the_core_and_not_by_its_neighbour() -> None:
    networks = Network("a", "b"), Network("a", "core"), Network("b", "core")
    nodes = NodeSpec("a"), NodeSpec("b"), NodeSpec("core", Role.ROUTER)
    made = plan(Topology("two links", nodes, networks, (Path("a", "b"),)))
    own = {cable.left.node: cable for cable in made.cables if cable.right.node == "core"}
    gateways = {route.node: route.gateway for route in made.routes}
    for name in ("a", "b"):
        assert gateways[name] == own[name].right.attachment.address.ip


def test_the_largest_labs_have_addresses() -> None:
    thousand = mesh(1000)
    for topology in (star(1000), thousand):
        addresses = [plug.attachment.address.ip for plug in plugs(plan(topology))]
        assert len(set(addresses)) == len(addresses)
        assert all(address in PUBLIC for address in addresses)


def test_more_networks_than_addresses_are_refused() -> None:
    names = [f"n{number}" for number in range(4098)]
    wide = Topology(
        "wide",
        (NodeSpec("core", Role.ROUTER), *(NodeSpec(name) for name in names)),
        tuple(Network(name, "core") for name in names),
        (Path("n0", "n1"),),
    )
    with pytest.raises(UsageError, match="more networks than addresses") as caught:
        plan(wide)
    assert caught.value.remedy

"""The shapes that are shipped: who is there, behind what, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.topology.graph import Path, Role, Topology
from culvert.topology.nat import Nat
from culvert.topology.plan import plan
from culvert.topology.shapes import member_names, mesh, pair, public, routed, serving, star
from tests.topology.drawn import meshes, topologies

SERVERS = [Role.CONTROL, Role.RELAY]


def test_a_star_has_clients_of_one_gateway() -> None:
    made = star(3)
    assert [(node.name, node.role) for node in made.nodes] == [
        ("c1", Role.CLIENT),
        ("c2", Role.CLIENT),
        ("c3", Role.CLIENT),
        ("core", Role.ROUTER),
        ("gateway", Role.GATEWAY),
    ]
    assert made.paths == (Path("c1", "gateway"),)
    assert len(star(3, every_path=True).paths) == 3


def test_a_public_host_makes_the_tunnel_the_default_route() -> None:
    topology = public()
    assert topology.full_tunnel
    assert [node.name for node in topology.members] == ["client", "gateway"]
    assert topology.between("client", "public") == (
        (topology.networks[0], True),
        (topology.networks[2], False),
    )
    assert not star(2).full_tunnel


def test_a_mesh_puts_members_behind_what_is_requested() -> None:
    made = mesh(
        4,
        nats={"a": [Nat.SYMMETRIC], "b": [Nat.FULL_CONE, Nat.SYMMETRIC, Nat.PORT_RESTRICTED]},
        block_udp=["a", "c"],
    )
    routers = {
        node.name: (node.nat, node.inside, node.blocks_udp)
        for node in made.of_role(Role.ROUTER)
        if node.filters
    }
    assert routers == {
        "nata": (Nat.SYMMETRIC, "a", True),
        "natb": (Nat.FULL_CONE, "b", False),
        "cgnb": (Nat.SYMMETRIC, "natb", False),
        "nat2b": (Nat.PORT_RESTRICTED, "cgnb", False),
        "fwc": (None, "c", True),
    }
    assert [network.name for network, _ in made.between("b", "d")] == [
        "b-natb",
        "natb-cgnb",
        "cgnb-nat2b",
        "nat2b-core",
        "d-core",
    ]


def test_members_are_named_by_letters_and_then_by_numbers() -> None:
    assert member_names(28)[-3:] == ("z", "m27", "m28")
    assert len(set(member_names(1000))) == 1000


@given(topologies(), st.lists(st.sampled_from(list(Role)), max_size=6))
def test_servers_are_added_once_and_change_no_other_address(
    topology: Topology, needs: list[Role]
) -> None:
    needed = set(needs) & set(SERVERS)
    if topology.name in ("pair", "routed") and needed:
        with pytest.raises(UsageError, match="which the VPN needs") as caught:
            serving(topology, needs)
        assert "mesh" in caught.value.remedy
        return
    made = serving(topology, needs)
    assert serving(made, needs) == made
    roles = [node.role for node in made.nodes]
    assert all(roles.count(role) == 1 for role in needed)
    assert (made.members, made.paths) == (topology.members, topology.paths)
    before, after = plan(topology), plan(made)
    for node in topology.members:
        assert before.attachments(node.name) == after.attachments(node.name)


def test_the_servers_are_on_the_core_router() -> None:
    made = serving(mesh(2), [Role.RELAY, Role.CONTROL, Role.RELAY, Role.MEMBER])
    assert [node.name for node in made.nodes] == ["a", "b", "core", "relay", "control"]
    assert [network.name for network in made.networks[2:]] == ["relay-core", "control-core"]
    assert serving(pair(), [Role.MEMBER]) == pair()


@given(meshes())
def test_each_member_of_a_mesh_has_one_way_to_the_core(topology: Topology) -> None:
    for member in topology.members:
        hops = topology.between(member.name, "core")
        assert all(forward for _, forward in hops)
        assert len(topology.networks_of(member.name)) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: star(0),
        lambda: star(1001),
        lambda: mesh(1),
        lambda: mesh(1001),
        lambda: mesh(2, nats={"c": [Nat.SYMMETRIC]}),
        lambda: mesh(2, block_udp=["core"]),
        lambda: routed({"router": Nat.SYMMETRIC}),
        lambda: routed({"a": Nat.SYMMETRIC, "b": Nat.SYMMETRIC}),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(make: Callable[[], Topology]) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.remedy

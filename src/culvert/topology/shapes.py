"""The topologies that Culvert ships.

::

    pair      a ──────────── b

    routed    a ── router ── b          firewall, NAT, blocked UDP on the router

    star      c1 ─┐
              c2 ─┼─ core ── gateway    N clients of one gateway; a measurement may add a host
              cN ─┘                     behind the gateway

    mesh      a ── nata ─┐              a behind a NAT; b behind two in a row (CGNAT);
              b ── natb ── cgnb ─┤      c where UDP is blocked; d reachable by all;
              c ── fwc ──┼ core ─┬ control
              d ─────────┘       └ relay

    public    client ── core ─┬─ gateway     the client's default route is the tunnel to the
                              └─ public      gateway; core is the provider of them all
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from string import ascii_lowercase

from culvert.errors import UsageError
from culvert.topology.graph import SERVERS, Network, NodeSpec, Path, Role, Topology
from culvert.topology.nat import Nat

CORE = "core"
PUBLIC = "public"
GATEWAY = "gateway"
BEHIND = "behind"
MOST_NODES = 1000
SERVER_NAMES: Mapping[Role, str] = {Role.CONTROL: "control", Role.RELAY: "relay"}


class Shape(StrEnum):
    """The values of ``[lab] topology``."""

    PAIR = "pair"
    ROUTED = "routed"
    STAR = "star"
    MESH = "mesh"
    PUBLIC = "public"


def pair() -> Topology:
    """Two members on one link."""
    nodes = (NodeSpec("a"), NodeSpec("b"))
    return Topology(Shape.PAIR, nodes, (Network("a", "b"),), (Path("a", "b"),))


def routed(nat: Mapping[str, Nat] | None = None, *, block_udp: bool = False) -> Topology:
    """Two members with a router between them. ``nat`` is the member behind a NAT."""
    translated = dict(nat or {})
    if len(translated) > 1 or not translated.keys() <= {"a", "b"}:
        raise UsageError(
            f"NAT for {', '.join(translated)}",
            "the router translates for one of the nodes a and b",
            'write nat = "port-restricted" for node a',
        )
    behind, kind = next(iter(translated.items()), ("a", None))
    nodes = (
        NodeSpec("a"),
        NodeSpec("router", Role.ROUTER, kind, behind, block_udp, filters=True),
        NodeSpec("b"),
    )
    networks = (Network("a", "router"), Network("router", "b"))
    return Topology(Shape.ROUTED, nodes, networks, (Path("a", "b"),))


def star(
    clients: int,
    *,
    every_path: bool = False,
    paths: Iterable[Path] | None = None,
    behind: bool = False,
) -> Topology:
    """Clients of one gateway, each on a link of its own to a core router.

    The first client's path is measured, or with ``every_path`` each client's in turn, or ``paths``;
    one between two clients leads through the gateway inside the VPN. ``behind`` adds a host on a
    network of its own at the gateway, which forwards.
    """
    _check_count("clients", clients, least=1)
    names = [f"c{number}" for number in range(1, clients + 1)]
    nodes = (
        *(NodeSpec(name, Role.CLIENT) for name in names),
        NodeSpec(CORE, Role.ROUTER),
        NodeSpec(GATEWAY, Role.GATEWAY),
        *((NodeSpec(BEHIND, Role.BEHIND),) if behind else ()),
    )
    networks = (
        *(Network(name, CORE) for name in names),
        Network(GATEWAY, CORE),
        *((Network(BEHIND, GATEWAY),) if behind else ()),
    )
    if paths is None:
        paths = (Path(name, GATEWAY) for name in (names if every_path else names[:1]))
    return Topology(Shape.STAR, nodes, networks, tuple(paths))


def mesh(
    members: int,
    *,
    nats: Mapping[str, Sequence[Nat]] | None = None,
    block_udp: Iterable[str] = (),
    paths: Iterable[Path] = (Path("a", "b"),),
) -> Topology:
    """Members on links of their own to a core router. ``nats`` are, by member, the NATs in
    front of it, its own first; ``block_udp`` are members whose UDP is blocked."""
    _check_count("members", members, least=2)
    names = member_names(members)
    behind, blocked = dict(nats or {}), frozenset(block_udp)
    for name in (*behind, *blocked):
        if name not in names:
            raise UsageError(
                f"node '{name}'", f"a mesh of {members} has none", f"use {', '.join(names)}"
            )
    nodes: list[NodeSpec] = []
    networks: list[Network] = []
    for name in names:
        chain = [*_routers(name, behind.get(name, ()), blocks_udp=name in blocked)]
        hops = [NodeSpec(name), *chain]
        nodes += hops
        ends = [hop.name for hop in hops] + [CORE]
        networks += [Network(*both) for both in pairwise(ends)]
    nodes.append(NodeSpec(CORE, Role.ROUTER))
    return Topology(Shape.MESH, tuple(nodes), tuple(networks), tuple(paths))


def public() -> Topology:
    """A client that reaches a public host through its gateway's tunnel, or beside it by the
    provider's router."""
    nodes = (
        NodeSpec("client", Role.CLIENT),
        NodeSpec(CORE, Role.ROUTER),
        NodeSpec(GATEWAY, Role.GATEWAY),
        NodeSpec(PUBLIC, Role.PUBLIC),
    )
    networks = tuple(Network(name, CORE) for name in ("client", GATEWAY, PUBLIC))
    return Topology(Shape.PUBLIC, nodes, networks, (Path("client", GATEWAY),))


def serving(topology: Topology, needs: Iterable[Role]) -> Topology:
    """The topology with a node added for each role that a VPN needs and no node has.

    Raises UsageError if the topology has no core router to attach it to.
    """
    there = {node.role for node in topology.nodes}
    wanted = [role for role in dict.fromkeys(needs) if role in SERVERS and role not in there]
    if not wanted:
        return topology
    if not any(node.name == CORE for node in topology.nodes):
        raise UsageError(
            f'topology "{topology.name}"',
            f"it has no node for a {wanted[0]}, which the VPN needs",
            'write topology = "mesh" in [lab]',
        )
    servers = tuple(NodeSpec(SERVER_NAMES[role], role) for role in wanted)
    links = tuple(Network(server.name, CORE) for server in servers)
    return replace(topology, nodes=topology.nodes + servers, networks=topology.networks + links)


def member_names(count: int) -> tuple[str, ...]:
    """a, b, c ... z, then m27 and so on."""
    letters = ascii_lowercase[:count]
    return (*letters, *(f"m{number}" for number in range(len(letters) + 1, count + 1)))


def _routers(name: str, nats: Sequence[Nat], *, blocks_udp: bool) -> Iterable[NodeSpec]:
    """From the member outwards; the first of them blocks UDP."""
    inside = name
    for number, kind in enumerate(nats):
        prefix = "nat" if number == 0 else "cgn" if number == 1 else f"nat{number}"
        blocks = blocks_udp and number == 0
        yield NodeSpec(f"{prefix}{name}", Role.ROUTER, kind, inside, blocks, filters=True)
        inside = f"{prefix}{name}"
    if blocks_udp and not nats:
        yield NodeSpec(f"fw{name}", Role.ROUTER, None, name, blocks_udp=True, filters=True)


def _check_count(what: str, count: int, *, least: int) -> None:
    if not least <= count <= MOST_NODES:
        raise UsageError(
            f"{what} = {count}", f"is not between {least} and {MOST_NODES}", f"write {what} = 3"
        )

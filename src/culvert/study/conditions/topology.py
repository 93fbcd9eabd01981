"""The topology of ``[lab]`` and of a ``[[condition]]``, and the version of IP below the VPNs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Annotated, Literal, cast

from pydantic import Field

from culvert.errors import UsageError
from culvert.study.conditions.nat import ROUTER_KEYS, by_node
from culvert.study.table import problem
from culvert.topology import shapes
from culvert.topology.graph import Path, Role, Topology
from culvert.topology.ip import IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.nat import Nat
from culvert.topology.shapes import MOST_NODES, Shape
from culvert.topology.spec import LabSpec

if TYPE_CHECKING:
    from culvert.study.conditions.condition import ConditionTable
    from culvert.study.conditions.lab import LabTable

VersionWord = Literal["ipv4", "ipv6"]


def underlay_of(lab: LabTable, condition: ConditionTable | None) -> IpVersion:
    """The condition's version, else the lab's."""
    word = (condition.underlay if condition is not None else None) or lab.underlay
    return IpVersion.V6 if word == "ipv6" else IpVersion.V4


def inner_of(condition: ConditionTable) -> IpVersion:
    """The condition's version inside the VPNs."""
    return IpVersion.V6 if condition.inner == "ipv6" else IpVersion.V4


def refuse_underlay(
    lab: LabTable, condition: ConditionTable | None, topology: Topology, here: list[str | int]
) -> None:
    """Raise a problem of the study for routers that translate or filter IPv4 only."""
    if underlay_of(lab, condition) is IpVersion.V4:
        return
    if topology.full_tunnel:
        why = f'the topology "{topology.name}" has IPv6 beside IPv4 already'
        raise problem(why, "leave underlay out", [*here, "underlay"])
    filters = [node.name for node in topology.nodes if node.filters]
    if filters:
        table = lab if condition is None else condition
        keys = [key for key in ("underlay", *ROUTER_KEYS) if getattr(table, key)]
        raise problem(
            f"the router {filters[0]} translates or filters, which Culvert does for IPv4 only",
            'leave underlay out, or write topology = "pair", "star", or "mesh" without nat and '
            "block_udp",
            [*here, *keys[:1]],
        )


ShapeWord = Annotated[Shape, Field(strict=False)]
NodeCount = Annotated[int, Field(ge=1, le=MOST_NODES)]
PathWord = Annotated[str, Field(pattern=r"^[a-z0-9]+>[a-z0-9]+$")]
PathsValue = (
    Literal["first", "every"] | Annotated[tuple[PathWord, ...], Field(strict=False, min_length=1)]
)
"""``first``, ``every`` (one for each client of a star), or a list: ``["a>b", "c>b"]`` of a mesh,
``["c1>c2"]`` of a star."""
DEFAULT_MEMBERS = 3

_LISTED = 8
"""Number of names that an error lists."""
_KEYS = {"clients": Shape.STAR, "members": Shape.MESH}


def topology_of(lab: LabTable, condition: ConditionTable | None = None) -> Topology:
    """The topology to build. Raises UsageError if it cannot be built."""
    nat, block = lab.nat, lab.block_udp
    if condition is not None:
        nat = nat if condition.nat is None else condition.nat
        block = block if condition.block_udp is None else condition.block_udp
    shape, behind = lab.topology, by_node(nat)
    if (behind or block) and shape not in (Shape.ROUTED, Shape.MESH):
        raise UsageError(
            "nat and block_udp",
            f'the topology "{shape}" has no router for them',
            'write topology = "routed" or "mesh" in [lab]',
        )
    match shape:
        case Shape.PAIR:
            return shapes.pair()
        case Shape.ROUTED:
            return _routed(behind, block)
        case Shape.STAR:
            return shapes.star(
                lab.clients or DEFAULT_MEMBERS,
                every_path=lab.paths == "every",
                paths=_listed(lab.paths),
            )
        case Shape.PUBLIC:
            return shapes.public()
        case Shape.MESH:
            if isinstance(block, bool) and block:
                raise UsageError("block_udp", "names no member", 'write block_udp = ["a"]')
            return shapes.mesh(
                lab.members or DEFAULT_MEMBERS,
                nats=behind,
                block_udp=() if isinstance(block, bool) else block,
                paths=_listed(lab.paths) or (Path("a", "b"),),
            )


def _routed(behind: Mapping[str, tuple[Nat, ...]], block: bool | tuple[str, ...]) -> Topology:
    if any(len(kinds) > 1 for kinds in behind.values()):
        raise UsageError(
            "several NATs in a row", "a routed lab has one router", 'write topology = "mesh"'
        )
    if not isinstance(block, bool):
        raise UsageError("block_udp", "is true or false in a routed lab", "write block_udp = true")
    return shapes.routed({node: kinds[0] for node, kinds in behind.items()}, block_udp=block)


def _listed(value: object) -> tuple[Path, ...] | None:
    """The paths of a list; None for a word."""
    if isinstance(value, tuple):
        return tuple(Path(*word.split(">")) for word in value)
    return None


def refuse_topology(lab: LabTable, condition: ConditionTable | None, here: list[str | int]) -> None:
    """Raise a problem of the study if the topology and keys of the table contradict each other."""
    table = lab if condition is None else condition
    if condition is None:
        for key, shape in _KEYS.items():
            if getattr(lab, key) is not None and lab.topology is not shape:
                why = f'"{key}" is for the topology "{shape}" only'
                raise problem(why, f'write topology = "{shape}", or leave it out', [*here, key])
        _refuse_paths(lab, here)
    else:
        _refuse_pairs(lab, condition, here)
    try:
        topology = topology_of(lab, condition)
    except UsageError as error:
        place = [*here, *_culprit(lab, condition, table)]
        raise problem(f"{error.what}: {error.why}", error.remedy, place) from None
    refuse_underlay(lab, condition, topology, here)
    names = {node.name for node in topology.nodes}
    if condition is None:
        _refuse_ends(topology, [*here, "paths"])
    else:
        _refuse_links(lab, condition, topology, here)
        if condition.router is not None:
            _refuse_names(topology, [condition.router.node], names, [*here, "router", "node"])
    if isinstance(table.cpus, dict):
        _refuse_names(topology, table.cpus, names, [*here, "cpus"], named=True)


def _culprit(
    lab: LabTable, condition: ConditionTable | None, table: LabTable | ConditionTable
) -> list[str]:
    """The only key that prevents the topology from being built; none if several are wrong."""
    for key in ("nat", "block_udp", "members", "clients", "paths"):
        default = False if key == "block_udp" and table is lab else None
        if getattr(table, key, default) in (None, False):
            continue
        without = table.model_copy(update={key: default})
        try:
            if condition is None:
                topology_of(cast("LabTable", without))
            else:
                topology_of(lab, cast("ConditionTable", without))
        except UsageError:
            continue
        return [key]
    return []


def _refuse_names(
    topology: Topology,
    words: Iterable[str],
    known: Set[str],
    place: list[str | int],
    *,
    named: bool = False,
    kind: str = "node",
) -> None:
    """Refuse words that are not known. ``named``: the word is a key of the table at ``place``."""
    for word in words:
        if word not in known:
            why = f'topology "{topology.name}" has no {kind} "{word}"'
            some = sorted(known)
            listed = ", ".join(some[:_LISTED]) + (" ..." if len(some) > _LISTED else "")
            raise problem(why, f"its {kind}s are {listed}", [*place, word] if named else place)


def _refuse_links(
    lab: LabTable, condition: ConditionTable, topology: Topology, here: list[str | int]
) -> None:
    """Refuse unknown links, and impairments of the links of one path that cannot be combined."""
    known = {network.name for network in topology.networks}
    links = condition.links or {}
    _refuse_names(topology, links, known, [*here, "links"], named=True, kind="link")
    base = LinkSpec(lab.link.kind, lab.link.rate_bps, offloads=lab.link.offloads).requesting(
        lab.link.mtu
    )
    spec = LabSpec(
        topology,
        condition.changed(base),
        links={name: keys.changed(base) for name, keys in links.items()},
    )
    for path in topology.paths:
        try:
            spec.path_link(path)
        except UsageError as error:
            place = [*here, "links"] if links else here
            raise problem(f"{error.what}: {error.why}", error.remedy, place) from None


def _refuse_pairs(lab: LabTable, condition: ConditionTable, here: list[str | int]) -> None:
    """``nat_pairs`` needs routers in front of both members, and sets them alone."""
    if condition.nat_pairs is None:
        return
    if lab.topology is not Shape.MESH:
        why = f'the topology "{lab.topology}" has no routers in front of both members'
        raise problem(why, 'write topology = "mesh" in [lab]', [*here, "nat_pairs"])
    for key in ROUTER_KEYS:
        if getattr(condition, key) is not None:
            why = f"nat_pairs sets {key} in each of its conditions"
            raise problem(why, f"leave {key} out", [*here, key])


def _refuse_ends(topology: Topology, place: list[str | int]) -> None:
    """Refuse paths other than between two members, and repeated paths."""
    members = {node.name for node in topology.members}
    for path in topology.paths:
        _refuse_names(topology, (path.source, path.target), members, place, kind="member")
        if topology.node(path.source).role is Role.GATEWAY:
            why = f'the path "{path}" starts at the gateway'
            raise problem(why, f'write "{path.target}>{path.source}"', place)
        if path.source == path.target:
            why = f'both ends of the path "{path}" are the same member'
            raise problem(why, 'write two members, "a>b"', place)
        if topology.paths.count(path) > 1:
            raise problem(f'the path "{path}" is listed twice', "list it once", place)


def _refuse_paths(lab: LabTable, here: list[str | int]) -> None:
    if lab.paths == "every" and lab.topology is not Shape.STAR:
        raise problem(
            '"every" is for the topology "star" only',
            'name the paths: paths = ["a>b"]',
            [*here, "paths"],
        )
    if isinstance(lab.paths, tuple) and lab.topology not in (Shape.STAR, Shape.MESH):
        raise problem(
            'a list of paths is for the topologies "star" and "mesh" only',
            "leave it out",
            [*here, "paths"],
        )

"""The topology that ``[lab]`` and a ``[[condition]]`` name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from culvert.errors import UsageError
from culvert.study.conditions.nat import by_node
from culvert.study.table import problem
from culvert.topology import shapes
from culvert.topology.graph import Path, Topology
from culvert.topology.nat import Nat
from culvert.topology.shapes import MOST_NODES, Shape

if TYPE_CHECKING:
    from culvert.study.conditions.condition import ConditionTable
    from culvert.study.conditions.lab import LabTable

ShapeWord = Literal["pair", "routed", "star", "mesh"]
NodeCount = Annotated[int, Field(ge=1, le=MOST_NODES)]
PathWord = Annotated[str, Field(pattern=r"^[a-z0-9]+>[a-z0-9]+$")]
PathsValue = (
    Literal["first", "every"] | Annotated[tuple[PathWord, ...], Field(strict=False, min_length=1)]
)
"""``first``, ``every`` client's (of a star), or a list such as ``["a>b", "c>b"]`` (of a mesh)."""
DEFAULT_MEMBERS = 3

_KEYS = {"clients": Shape.STAR, "members": Shape.MESH}


def topology_of(lab: LabTable, condition: ConditionTable | None = None) -> Topology:
    """What to build. Raises UsageError for what cannot be."""
    nat, block = lab.nat, lab.block_udp
    if condition is not None:
        nat = nat if condition.nat is None else condition.nat
        block = block if condition.block_udp is None else condition.block_udp
    shape, behind = Shape(lab.topology), by_node(nat)
    match shape:
        case Shape.PAIR:
            _refuse_obstacles(shape, obstructed=bool(behind or block))
            return shapes.pair()
        case Shape.ROUTED:
            return _routed(behind, block)
        case Shape.STAR:
            _refuse_obstacles(shape, obstructed=bool(behind or block))
            return shapes.star(lab.clients or DEFAULT_MEMBERS, every_path=lab.paths == "every")
        case Shape.MESH:
            if isinstance(block, bool) and block:
                raise UsageError("block_udp", "names no member", 'write block_udp = ["a"]')
            return shapes.mesh(
                lab.members or DEFAULT_MEMBERS,
                nats=behind,
                block_udp=() if isinstance(block, bool) else block,
                paths=_paths(lab.paths),
            )


def _routed(behind: Mapping[str, tuple[Nat, ...]], block: bool | tuple[str, ...]) -> Topology:
    if any(len(kinds) > 1 for kinds in behind.values()):
        raise UsageError(
            "several NATs in a row", "a routed lab has one router", 'write topology = "mesh"'
        )
    if not isinstance(block, bool):
        raise UsageError("block_udp", "of a routed lab is true or false", "write block_udp = true")
    return shapes.routed({node: kinds[0] for node, kinds in behind.items()}, block_udp=block)


def _paths(value: object) -> tuple[Path, ...]:
    if isinstance(value, tuple):
        return tuple(Path(*word.split(">")) for word in value)
    return (Path("a", "b"),)


def _refuse_obstacles(shape: Shape, *, obstructed: bool) -> None:
    if obstructed:
        raise UsageError(
            "nat and block_udp",
            f'the topology "{shape}" has no router for them',
            'write topology = "routed" or "mesh" in [lab]',
        )


def refuse_topology(lab: LabTable, condition: ConditionTable | None, here: list[str | int]) -> None:
    """Raise as a problem of the study what topology and keys of the table contradict."""
    table = lab if condition is None else condition
    if condition is None:
        for key, shape in _KEYS.items():
            if getattr(lab, key) is not None and lab.topology != shape:
                why = f'"{key}" is of the topology "{shape}"'
                raise problem(why, f'write topology = "{shape}", or leave it out', [*here, key])
        _refuse_paths(lab, here)
    try:
        topology = topology_of(lab, condition)
    except UsageError as error:
        culprit = next((key for key in ("nat", "block_udp") if getattr(table, key, None)), "")
        place = [*here, culprit] if culprit else here
        raise problem(f"{error.what}: {error.why}", error.remedy, place) from None
    names = {node.name for node in topology.nodes}
    links = {network.name for network in topology.networks}
    for name in condition.links or () if condition is not None else ():
        if name not in links:
            why = f'topology "{lab.topology}" has no link "{name}"'
            known = ", ".join(sorted(links)[:8])
            raise problem(why, f"its links are {known}", [*here, "links", name])
    cpus = table.cpus
    for name in cpus if isinstance(cpus, dict) else ():
        if name not in names:
            why = f'topology "{lab.topology}" has no node "{name}"'
            known = ", ".join(sorted(names)[:8])
            raise problem(why, f"its nodes are {known}", [*here, "cpus", name])


def _refuse_paths(lab: LabTable, here: list[str | int]) -> None:
    if lab.paths == "every" and Shape(lab.topology) is not Shape.STAR:
        raise problem(
            '"every" path is of the topology "star"', 'name them: paths = ["a>b"]', [*here, "paths"]
        )
    if isinstance(lab.paths, tuple) and Shape(lab.topology) is not Shape.MESH:
        raise problem(
            'a list of paths is of the topology "mesh"',
            'write paths = "every" for a star, or leave it out',
            [*here, "paths"],
        )

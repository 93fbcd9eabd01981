"""Requirements of a study that the machine does not meet: the cells would be unsupported."""

from __future__ import annotations

import resource
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from culvert.errors import NotPossible
from culvert.labs import guest
from culvert.labs.descriptors import descriptors_of, nodes_within
from culvert.machine.record.memory import read_memory
from culvert.machine.tree import Tree
from culvert.plan.plan import Cell, Plan
from culvert.study.catalogue import installed_measurements
from culvert.study.conditions.condition import ConditionTable
from culvert.study.conditions.processors import cores, node_cpus
from culvert.study.conditions.topology import topology_of
from culvert.study.lines import Path, line_numbers, nearest_line
from culvert.study.study import Study
from culvert.topology.graph import Topology
from culvert.topology.spec import LabSpec

NODE_BYTES = 1 << 20
"""Memory of a namespace with its links and its thread: 0.7 MB measured."""
MEMBER_BYTES = 16 << 20
"""Memory of a VPN's program, which takes 10 to 60 MB."""


@dataclass(frozen=True)
class Machine:
    """The resources for labs. ``cores`` are the CPUs that may be used, by physical core."""

    cores: Sequence[tuple[int, ...]]
    memory_bytes: int | None = None
    """Available memory; None if unknown."""
    descriptors: int | None = None
    """The most open files of this process; None if unknown."""

    @classmethod
    def here(cls) -> Machine:
        """This machine, or the guest that this process runs in."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls(guest.processors(cores()), read_memory(Tree()).available_bytes, most)


@dataclass(frozen=True)
class Shortfall:
    """One missing requirement. ``line`` of the study's text requests it (None if it is a default);
    it makes ``cells`` cells of the study unsupported, in ``conditions``."""

    line: int | None
    what: str
    why: str
    remedy: str
    conditions: tuple[str, ...]
    cells: int

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        count = "1 cell" if self.cells == 1 else f"{self.cells} cells"
        where = ", ".join(self.conditions)
        return (
            f"{place}{self.what}: {self.why}, so {count} ({where}) would be unsupported here: "
            f"{self.remedy}"
        )

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def shortfalls(study: Study, machine: Machine, plan: Plan | None = None) -> list[Shortfall]:
    """What the labs of the study's conditions need and the machine does not have.

    ``plan`` limits it to a part of the study. Conditions whose cells are all unsupported by
    ``[[lacking]]`` are left out.
    """
    plan = plan or Plan.of(study)
    found: dict[tuple[int | None, str, str, str], list[Cell]] = {}
    for cell in plan.cells:
        if cell in plan.absent:
            continue
        try:
            topology = _lab(study, cell, machine).topology
            _require_memory(topology, machine)
            _require_descriptors(topology, machine)
        except NotPossible as error:
            line = _line(study, cell.condition, machine)
            found.setdefault((line, error.what, error.why, error.remedy), []).append(cell)
    return [
        Shortfall(*problem, tuple(dict.fromkeys(one.condition for one in cells)), len(cells))
        for problem, cells in found.items()
    ]


def _lab(study: Study, cell: Cell, machine: Machine) -> LabSpec:
    """That of the cell's condition, as its measurement shapes it."""
    spec = study.lab_spec(cell.condition, machine.cores)
    measurement = installed_measurements()[cell.measurement]
    parameters = measurement.Parameters.model_validate_json(cell.parameters)
    shaped: LabSpec = measurement.lab(spec, parameters)
    return shaped


def _require_memory(topology: Topology, machine: Machine) -> None:
    nodes, members = len(topology.nodes), len(topology.members)
    wanted = nodes * NODE_BYTES + members * MEMBER_BYTES
    if machine.memory_bytes is not None and wanted > machine.memory_bytes:
        servers = (nodes - members) * NODE_BYTES
        most = (machine.memory_bytes - servers) // (NODE_BYTES + MEMBER_BYTES)
        raise NotPossible(
            f'topology "{topology.name}" with {members} members',
            f"{nodes} nodes with a VPN on each member take about {wanted >> 20} MB, "
            f"{machine.memory_bytes >> 20} MB are available",
            f"use at most {max(most, 0)} members, or a machine with more memory",
        )


def _require_descriptors(topology: Topology, machine: Machine) -> None:
    wanted = descriptors_of(len(topology.nodes))
    if machine.descriptors is not None and wanted > machine.descriptors:
        most = nodes_within(machine.descriptors) - len(topology.nodes) + len(topology.members)
        raise NotPossible(
            f'topology "{topology.name}" with {len(topology.members)} members',
            f"{len(topology.nodes)} nodes take about {wanted} open files, {machine.descriptors} "
            "are permitted",
            f"raise the limit (ulimit -Hn {wanted}), or use at most {max(most, 0)} members",
        )


def _line(study: Study, name: str, machine: Machine) -> int | None:
    """The line on which the study requests the CPUs of a condition."""
    condition = study.condition(name)
    # A scale leaves conditions out, but the text contains all of them.
    tables = tomllib.loads(study.text).get("condition", [])
    index = next((at for at, table in enumerate(tables) if table.get("name") == name), None)
    key = _key(study, condition, machine)
    path: Path = ("lab", "cpus") if key is None or index is None else ("condition", index, key)
    return nearest_line(line_numbers(study.text), path)


def _key(study: Study, condition: ConditionTable, machine: Machine) -> str | None:
    """The condition's key that cannot be fulfilled; None if it is ``cpus`` of ``[lab]``."""
    if condition.router is not None and condition.router.cores is not None:
        try:
            topology = topology_of(study.file.lab, condition)
            others = condition.model_copy(update={"router": None})
            node_cpus(study.file.lab, others, topology, machine.cores)
        except NotPossible:
            pass
        else:
            return "router"
    if condition.cores is not None:
        return "cores"
    return "cpus" if condition.cpus is not None else None

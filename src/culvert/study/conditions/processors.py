"""The keys of a condition that set the processors: ``aes``, ``cores``, ``cpus``, ``rps``, ``rfs``,
``xps``, ``tunnel_rps``, ``tunnel_xps``, ``interrupts`` and ``router``; the CPUs that each node
gets."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from culvert.errors import NotPossible
from culvert.study.conditions.lab import CpuList, CpusValue, LabTable, checked
from culvert.study.table import Table
from culvert.topology.graph import Role, Topology
from culvert.topology.spec import Processors, Steering
from culvert.units import Fraction

_CPU = Path("/sys/devices/system/cpu")
GENERATORS = "the generators"
"""On a star, all nodes but the gateway."""


def cores() -> list[tuple[int, ...]]:
    """The CPUs that this process may use, grouped by physical core (hardware threads together)."""
    usable = os.sched_getaffinity(0)
    groups: dict[str, list[int]] = {}
    for cpu in sorted(usable):
        topology = _CPU / f"cpu{cpu}" / "topology"
        try:
            core = (topology / "thread_siblings_list").read_text()
        except OSError:
            core = str(cpu)
        groups.setdefault(core, []).append(cpu)
    return [tuple(group) for group in groups.values()]


def split(cores: Sequence[tuple[int, ...]], nodes: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    """Give each node its own cores, divided as evenly as possible.

    Hardware threads of one core belong to one node, unless there are fewer cores than nodes.
    Raises NotPossible if there are fewer CPUs than nodes.
    """
    groups = list(cores)
    if len(groups) < len(nodes):
        groups = [(cpu,) for group in cores for cpu in group]
    if len(groups) < len(nodes):
        raise NotPossible(
            'cpus = "split"',
            f"{len(nodes)} nodes need {len(nodes)} CPUs, this machine has {len(groups)}",
            'write cpus = "shared" in [lab]',
        )
    shares: dict[str, tuple[int, ...]] = {}
    for index, node in enumerate(nodes):
        first = index * len(groups) // len(nodes)
        end = (index + 1) * len(groups) // len(nodes)
        shares[node] = tuple(sorted(cpu for group in groups[first:end] for cpu in group))
    return shares


CoreCount = Annotated[int, Field(ge=1, le=1024)]


class RouterTable(Table):
    """``router = { quota = "20%", cores = 1 }``: emulates the slow CPU of a small router: the
    node's programs get only a share of its CPUs."""

    quota: Annotated[Fraction, Field(gt=0, le=1)]
    cores: CoreCount | None = None
    node: str = "b"


class ProcessorKeys(Table):
    """The processor settings of a condition."""

    aes: bool | None = None
    turbo: bool | None = None
    cores: CoreCount | None = None
    cpus: CpusValue | None = None
    rps: bool | None = None
    rfs: bool | None = None
    xps: bool | None = None
    tunnel_rps: bool | None = None
    tunnel_xps: bool | None = None
    interrupts: CpuList | None = None
    router: RouterTable | None = None

    @property
    def steering(self) -> Steering:
        return Steering(self.rps, self.rfs, self.xps)

    @property
    def processors(self) -> Processors:
        """All settings except the CPUs of each node."""
        quota: dict[str, float] = {self.router.node: self.router.quota} if self.router else {}
        tunnel = Steering(rps=self.tunnel_rps, xps=self.tunnel_xps)
        interrupts = self.interrupts or ()
        return Processors(self.aes, quota, self.steering, interrupts, tunnel, self.turbo)


PROCESSOR_KEYS = tuple(ProcessorKeys.model_fields)


def queues(keys: ProcessorKeys, cores: Sequence[tuple[int, ...]]) -> int:
    """The number of queues of each device of a cable: one for each CPU if ``xps`` is set."""
    return sum(map(len, cores)) if keys.xps is not None else 1


def node_cpus(
    lab: LabTable,
    keys: ProcessorKeys,
    topology: Topology,
    cores: Sequence[tuple[int, ...]],
) -> Mapping[str, tuple[int, ...]] | None:
    """CPUs by node; None if all nodes share all CPUs. On a star the gateway has its own, and all
    other nodes share the others: they generate its load.

    ``cores`` are the machine's CPUs grouped by physical core. Raises NotPossible if there are too
    few.
    """
    requested = lab.cpus if keys.cpus is None else keys.cpus
    parties = _parties(topology)
    found: Mapping[str, tuple[int, ...]] | None = None
    if keys.cores is not None:
        own = _beside if GENERATORS in parties else own_cores
        found = _each_node(own(cores, list(parties), keys.cores), parties)
    elif requested == "split":
        found = _each_node(split(cores, list(parties)), parties)
    elif isinstance(requested, dict):
        found = checked(requested, cores)
    if keys.router is not None and keys.router.cores is not None:
        every = tuple(sorted(cpu for core in cores for cpu in core))
        found = _few(found, keys.router.node, keys.router.cores, every)
    return found


def _parties(topology: Topology) -> dict[str, list[str]]:
    """Nodes that share CPUs, by the name of their party."""
    gateways = [node.name for node in topology.of_role(Role.GATEWAY)]
    names = [node.name for node in topology.nodes]
    if not gateways:
        return {name: [name] for name in names}
    others = [name for name in names if name not in gateways]
    return {**{name: [name] for name in gateways}, GENERATORS: others}


def _each_node(
    found: Mapping[str, tuple[int, ...]], parties: Mapping[str, Sequence[str]]
) -> Mapping[str, tuple[int, ...]]:
    return {node: found[party] for party, nodes in parties.items() for node in nodes}


def _beside(
    cores: Sequence[tuple[int, ...]], parties: Sequence[str], count: int
) -> Mapping[str, tuple[int, ...]]:
    """The gateway gets ``count`` CPUs, the generators all others."""
    gateways = [party for party in parties if party != GENERATORS]
    found = own_cores(cores, gateways, count)
    used = {cpu for cpus in found.values() for cpu in cpus}
    others = tuple(sorted(cpu for core in cores for cpu in core if cpu not in used))
    if not others:
        raise NotPossible(
            f"cores = {count}",
            f"this machine has {len(used)}, and none is left for {GENERATORS}",
            "request fewer, measure this condition on a machine with more, or on hosts",
        )
    return {**found, GENERATORS: others}


def _nodes(nodes: int, cpus: int) -> str:
    if nodes == 1:
        return f"one node with {cpus} CPUs needs"
    return f"{nodes} nodes with {cpus} CPUs each need"


def own_cores(
    cores: Sequence[tuple[int, ...]], nodes: Sequence[str], count: int
) -> Mapping[str, tuple[int, ...]]:
    """Give each node ``count`` CPUs of its own: one of each physical core, if there are enough
    cores for that."""
    wanted = count * len(nodes)
    cpus = [core[0] for core in cores]
    if len(cpus) < wanted:
        cpus = [cpu for core in cores for cpu in core]
    if len(cpus) < wanted:
        raise NotPossible(
            f"cores = {count}",
            f"{_nodes(len(nodes), count)} {wanted}, this machine has {len(set(cpus))}",
            "measure this condition on a machine with more, or let nodes share CPUs with cpus",
        )
    return {
        node: tuple(sorted(cpus[index * count : (index + 1) * count]))
        for index, node in enumerate(nodes)
    }


def _few(
    found: Mapping[str, tuple[int, ...]] | None, node: str, count: int, every: tuple[int, ...]
) -> Mapping[str, tuple[int, ...]]:
    there = (found or {}).get(node, every)
    if len(there) < count:
        raise NotPossible(
            f"router.cores = {count}",
            f"node {node} has {len(there)}",
            "request fewer, or give the node more with cpus",
        )
    return {**(found or {}), node: there[:count]}

"""The lab ``hosts``: the nodes of a topology are hosts of an inventory, the links are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from culvert.errors import CulvertError, LabError, NotPossible
from culvert.labs.base import Lab
from culvert.labs.cpu import aes
from culvert.labs.footprint import Footprint
from culvert.labs.hosts import facts, network
from culvert.labs.hosts.cpus import own_cpus
from culvert.labs.hosts.entry import HostEntry
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.node import SshNode
from culvert.topology.graph import Network, Path, Role
from culvert.topology.link.spec import LinkSpec
from culvert.topology.plan import TUNNELS, Attachment
from culvert.topology.processors import AS_THEY_ARE
from culvert.topology.spec import LabSpec

MOST_OFFSET_S = 300.0
"""Certificates that are made here must be valid there."""
MOST_IN_SCOPE = 50
"""Nodes whose addresses the kernel compares with those of each packet."""
_REMEDY = "measure this condition in the lab netns, or leave it out"


class HostsLab(Lab):
    """Between the hosts is whatever the real network has: routers of the topology have no node."""

    real_links = True

    def __init__(
        self,
        fleet: Fleet,
        spec: LabSpec,
        *,
        assigned: Mapping[str, HostEntry] | None = None,
    ) -> None:
        """Connects to the hosts, unless they are connected. ``assigned`` are the hosts of nodes,
        else as the inventory has them. Raises NotPossible for what only an emulated link can have,
        UsageError if the inventory has too few hosts."""
        self.run_id = fleet.run_id
        _refuse(spec)
        self._fleet = fleet
        self._assigned = assigned or fleet.inventory.assign(spec.topology)
        self.spec = _direct(spec)
        self._hosts = dict(zip(self._assigned, fleet.connect(self._assigned.values()), strict=True))
        boots = {host.contact.boot for host in self._hosts.values()}
        self.shared_kernel = len(boots) == 1 and "" not in boots
        self._nodes: dict[str, SshNode] = {}
        self._management: dict[str, dict[str, str]] = {}

    @property
    def nodes(self) -> Mapping[str, SshNode]:
        """Nodes by name, once it is open."""
        return self._nodes

    @property
    def hosts(self) -> Sequence[SshHost]:
        """The hosts of the nodes."""
        return tuple(self._hosts.values())

    def attachments(self, node: str) -> tuple[Attachment, ...]:
        """The measured link's end."""
        return (self._nodes[node].underlay,)

    def open(self) -> None:
        """Find the links, and refuse to begin where a way is not the measured link's."""
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all programs on the hosts and undo everything there; connections stay."""
        self._fleet.each(list(self._hosts.values()), _reset)
        self._nodes = {}

    def broken(self) -> CulvertError | None:
        """A host that was lost."""
        for host in self._hosts.values():
            if not host.agent.alive():
                return host.agent.lost()
        return None

    def admit(self, footprint: Footprint) -> None:
        """Refuse names, ports and addresses that a host uses already."""
        for name, host in self._hosts.items():
            network.require_free(host, name, footprint)
        for host in self._hosts.values():
            if network.uses_ipsec(footprint):
                network.undo_ipsec(host)
            for inner in footprint.networks:
                network.bar(host, inner)

    def disturbed(self) -> CulvertError | None:
        """A changed way back to the controller."""
        for name, before in self._management.items():
            host = self._hosts[name]
            client = host.contact.client
            now = network.route_to(host, client[0]) if client else before
            if now != before:
                return LabError(
                    f"host {host.name}",
                    f"the way to the controller ({client[0] if client else '?'}) changed from "
                    f"{before.get('dev')} to {now.get('dev')}",
                    "the VPN must not route management traffic into its tunnel: leave out its "
                    "default route",
                )
        return None

    def capture_scope(self, path: Path) -> dict[str, Any]:
        """Packets between the lab's hosts, and inner ones; but none of SSH's."""
        nodes = list(self._nodes.values())
        if len(nodes) > MOST_IN_SCOPE:
            nodes = self._ends_and_servers(path)
        among = [f"{node.underlay.address.ip}/32" for node in nodes]
        connections = [
            [list(host.contact.client), list(host.contact.server)]
            for host in self._hosts.values()
            if host.contact.client and host.contact.server
            if network.is_ipv4(host.contact.client[0])
        ]
        return {"among": [*among, str(TUNNELS)], "leave_out": connections}

    def _ends_and_servers(self, path: Path) -> list[SshNode]:
        beside = (Role.CONTROL, Role.RELAY, Role.GATEWAY)
        servers = [node.name for node in self.spec.topology.of_role(*beside)]
        return [self._nodes[name] for name in (path.source, path.target, *servers)]

    def _open(self) -> None:
        for outcome in self._fleet.each(list(self._hosts.values()), _prepared):
            if isinstance(outcome, CulvertError):
                raise outcome
        ends = dict(zip(self._hosts, self._ends(), strict=True))
        for path in self.spec.topology.paths:
            (a, at_a), (b, at_b) = ends[path.source], ends[path.target]
            network.require_route(a, at_a, b, at_b)
            network.require_route(b, at_b, a, at_a)
        variables = aes.OFF if self.spec.processors.aes is False else None
        cpus = own_cpus(
            self.spec.cpus,
            {name: usable_cpus(host) for name, host in self._hosts.items()},
            {name: host.contact.boot for name, host in self._hosts.items()},
        )
        for node in self.spec.topology.nodes:
            host, end = ends[node.name]
            self._nodes[node.name] = SshNode(
                host, node.name, node.role, end, cpus=cpus[node.name], variables=variables
            )
            client = host.contact.client
            if client is not None and network.is_ipv4(client[0]):
                self._management[node.name] = network.route_to(host, client[0])
        self._note_offloads()

    def _ends(self) -> list[tuple[SshHost, Attachment]]:
        found = []
        for host, outcome in zip(
            self._hosts.values(),
            self._fleet.each(list(self._hosts.values()), network.measured_end),
            strict=True,
        ):
            if isinstance(outcome, CulvertError):
                raise outcome
            found.append((host, outcome))
        return found

    def _note_offloads(self) -> None:
        """Offloads of a real card are as they are: proofs must expect super-packets."""
        for path in self.spec.topology.paths:
            on = [
                name
                for node in self.ends(path)
                for name in facts.of_device(self._nodes[node.name], node.underlay.device).get(
                    "offloads_on", ["unknown"]
                )
            ]
            links = {
                one.name: replace(self.spec.link_of(one.name), offloads=bool(on))
                for one, _ in self.spec.topology.between(path.source, path.target)
            }
            self.spec = replace(self.spec, links={**self.spec.links, **links})


def _prepared(host: SshHost) -> None:
    """Nothing of an earlier trial is left there, and its clock is right."""
    host.open()
    wrong = wrong_clock(host)
    if wrong is not None:
        raise wrong
    host.reset()


def wrong_clock(host: SshHost) -> NotPossible | None:
    """The error for a clock with which certificates are not valid."""
    offset_s = host.contact.clock_offset_s
    if abs(offset_s) <= MOST_OFFSET_S:
        return None
    return NotPossible(
        f"host {host.name}",
        f"its clock is {abs(offset_s):.0f} s {'ahead' if offset_s > 0 else 'behind'}",
        "set it there: chronyc makestep, or date -s",
    )


def _reset(host: SshHost) -> None:
    if host.agent.alive():
        host.reset()


def usable_cpus(host: SshHost) -> tuple[int, ...]:
    """The CPUs that programs there may use."""
    status = host.text("/proc/self/status")
    words = next(
        line.partition(":")[2].strip()
        for line in status.splitlines()
        if line.startswith("Cpus_allowed_list")
    )
    cpus: list[int] = []
    for part in words.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


def _direct(spec: LabSpec) -> LabSpec:
    """The same without routers: each path has a link of its own, with what the study requests of
    all links on its way."""
    topology = spec.topology
    links: dict[str, LinkSpec] = {}
    networks = []
    members = {node.name for node in topology.nodes if node.role is not Role.ROUTER}
    for path in topology.paths:
        direct = Network(path.source, path.target)
        if direct.name not in links and f"{path.target}-{path.source}" not in links:
            networks.append(direct)
            links[direct.name] = replace(spec.path_link(path), kind="real", queues=1)
    nodes = tuple(node for node in topology.nodes if node.name in members)
    direct_topology = replace(topology, nodes=nodes, networks=tuple(networks))
    return replace(
        spec, topology=direct_topology, link=replace(spec.link, kind="real"), links=links
    )


def _refuse(spec: LabSpec) -> None:
    """Raise NotPossible for conditions that only a lab of this machine can create."""
    for node in spec.topology.nodes:
        if node.nat is not None or node.blocks_udp or node.filters:
            raise NotPossible(
                f"router {node.name}",
                "hosts have real routers, which Culvert does not change",
                _REMEDY,
            )
    if replace(spec.processors, aes=None) != AS_THEY_ARE:
        raise NotPossible(
            "router, rps, rfs, xps or interrupts",
            "they would change settings of the whole host",
            _REMEDY,
        )


def described(fleet: Fleet) -> dict[str, Any]:
    """The hosts of a run for the journal's environment: no secret is in it."""
    return {
        "hosts": [
            {"name": entry.name, "destination": entry.destination, "nodes": list(entry.nodes)}
            for entry in fleet.inventory.hosts
        ]
    }

"""The lab ``hosts``: the nodes of a topology are hosts of an inventory, the links are real."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

from culvert.errors import CulvertError, LabError, NotPossible
from culvert.labs.base import Footprint, Lab
from culvert.labs.cpu import aes
from culvert.labs.hosts.facts import device as facts
from culvert.labs.hosts.facts.cpus import own_cpus
from culvert.labs.hosts.facts.survey import Survey
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.links import network
from culvert.labs.hosts.links.choice import Choice
from culvert.labs.hosts.links.impairment import Towards, impair, less_the_own, round_trip_ns
from culvert.labs.hosts.links.network import Reached, Way
from culvert.labs.hosts.links.real_links import refuse_emulated, without_routers
from culvert.labs.hosts.links.rounds import rounds, used_by
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.node import SshNode
from culvert.labs.together import at_once
from culvert.topology.graph import Path, Role
from culvert.topology.plan import TUNNELS, Attachment
from culvert.topology.spec import LabSpec

MOST_OFFSET_S = 300.0
"""Certificates that are made here must be valid there."""
MOST_PEERS = 3
"""Other ends to which the path is described in the evidence of each trial."""
MOST_IN_SCOPE = 50
"""Nodes whose addresses the kernel compares with those of each packet."""


class HostsLab(Lab):
    """Between the hosts is whatever the real network has: routers of the topology have no node."""

    real_links = True

    def __init__(
        self,
        fleet: Fleet,
        spec: LabSpec,
        *,
        assigned: Mapping[str, HostEntry] | None = None,
        allow_impairment: bool = False,
    ) -> None:
        """Connects to the hosts, unless they are connected. ``assigned`` are the hosts of nodes,
        else as the inventory has them. Raises the error of a host that cannot be used; NotPossible
        for what only an emulated link can have, and if the inventory has too few hosts."""
        self.run_id = fleet.run_id
        self.impairs = allow_impairment
        refuse_emulated(spec)
        self._fleet = fleet
        assigned = assigned or fleet.inventory.assign(spec.topology)
        self.spec = without_routers(spec)
        self._hosts: dict[str, SshHost] = {}
        for name, found in zip(assigned, fleet.try_to_connect(assigned.values()), strict=True):
            if isinstance(found, CulvertError):
                raise found
            if (error := wrong_clock(found)) is not None:
                raise error
            self._hosts[name] = found
        boots = {host.contact.boot for host in self._hosts.values()}
        self.shared_kernel = len(boots) == 1 and "" not in boots
        self._nodes: dict[str, SshNode] = {}
        self._before: dict[str, Survey] = {}
        self._management: dict[str, Way] = {}
        self._choice: Choice | None = None
        self._admitted = False
        """Whether a VPN uses something of the hosts."""

    @property
    def nodes(self) -> Mapping[str, SshNode]:
        return self._nodes

    @property
    def hosts(self) -> Sequence[SshHost]:
        """The hosts of the nodes."""
        return tuple(self._hosts.values())

    def attachments(self, node: str) -> tuple[Attachment, ...]:
        return (self._nodes[node].underlay,)

    def open(self) -> None:
        """Find the links, and refuse to begin where a way is not the measured link's."""
        try:
            self._open()
        except CulvertError as error:
            lost = self.broken()
            self.close()
            raise lost or error from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all programs on the hosts and undo everything there; connections stay."""
        self._fleet.each(list(self._hosts.values()), _reset)
        self._nodes = {}

    def broken(self) -> CulvertError | None:
        """The error of a host that was lost, or does not answer."""
        return next(filter(None, self._fleet.each(self.hosts, SshHost.require_answer)), None)

    @property
    def tunnels(self) -> IPv4Network:
        return TUNNELS if self._choice is None else self._choice.tunnels

    def free_device(self, usual: str) -> str:
        return usual if self._choice is None else self._choice.device(usual)

    def free_port(self, usual: int) -> int:
        return usual if self._choice is None else self._choice.port(usual)

    @property
    def choices(self) -> Mapping[str, str]:
        return {} if self._choice is None else dict(self._choice.changes)

    @property
    def rounds(self) -> Sequence[Sequence[Path]]:
        """In random order by the block's seed; together those that share no host, no link that the
        inventory declares shared, no relay and no kernel."""
        order = list(self.spec.topology.paths)
        random.Random(self.spec.link.seed).shuffle(order)  # noqa: S311 - not a secret
        return rounds(order, self._uses)

    def admit(self, footprint: Footprint) -> None:
        """Refuse names, ports, addresses and tables that a host uses already, before anything is
        changed on any."""
        self._admitted = not footprint.unused
        if footprint.unused:
            return

        def checked(name: str) -> None:
            host = self._hosts[name]
            network.require_free(host, name, footprint, Survey.of(host))

        def barred(name: str) -> None:
            host = self._hosts[name]
            if network.uses_ipsec(footprint):
                network.undo_ipsec(host)
            network.undo_firewall(host, footprint.firewall_tables)
            for inner in footprint.networks:
                network.bar(host, inner)

        at_once(checked, list(self._hosts))
        at_once(barred, list(self._hosts))

    def disturbed(self) -> CulvertError | None:
        """A changed way back to the controller, or anything else of a host's network."""
        if not self._admitted:
            return None
        return next(filter(None, at_once(self._disturbance, list(self._hosts))), None)

    def _disturbance(self, name: str) -> CulvertError | None:
        host, before = self._hosts[name], self._management.get(name)
        client = host.contact.client
        now = network.ways_to(host, [client[0]] if client and before else [])
        if before and client and (way := now.get(client[0], {})) != before:
            return LabError(
                f"host {host.name}",
                f"the way to the controller ({client[0]}) changed from {before.get('dev')} to "
                f"{way.get('dev', 'no device')}",
                "the VPN must not route management traffic into its tunnel: leave out its "
                "default route",
            )
        changed = self._before[name].changed(Survey.of(host))
        if not changed:
            return None
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return LabError(
            f"host {host.name}",
            f"the VPN or another program changed or removed {changed[0]}{more}",
            "if another program changed it, repeat the trial; otherwise leave the VPN out on hosts",
        )

    def _uses(self, path: Path) -> frozenset[str]:
        """What packets of a path may share with those of another."""
        carriers = [node.name for node in self.spec.topology.of_role(Role.RELAY, Role.GATEWAY)]
        hosts = [self._hosts[name] for name in (path.source, path.target, *carriers)]
        kernels = frozenset(f"kernel {host.contact.boot}" for host in hosts if host.contact.boot)
        return used_by([host.entry for host in hosts]) | kernels

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
        return {"among": [*among, str(self.tunnels)], "leave_out": connections}

    def _ends_and_servers(self, path: Path) -> list[SshNode]:
        beside = (Role.CONTROL, Role.RELAY, Role.GATEWAY)
        servers = [node.name for node in self.spec.topology.of_role(*beside)]
        return [self._nodes[name] for name in (path.source, path.target, *servers)]

    def _open(self) -> None:
        """By two commands on each host, on all hosts at the same time."""
        surveys = at_once(_prepared, list(self._hosts.values()))
        self._before = dict(zip(self._hosts, surveys, strict=True))
        self._choice = Choice(surveys)
        reached = {
            name: Reached(host, network.measured_end(host, self._before[name]))
            for name, host in self._hosts.items()
        }
        found = at_once(lambda name: self._ways(name, reached), [*reached])
        ways = dict(zip(reached, found, strict=True))
        for path in self.spec.topology.paths:
            for own, other in ((path.source, path.target), (path.target, path.source)):
                there = str(reached[other].end.address.ip)
                reached[own].require_way(ways[own].get(there, {}), reached[other])
        variables = aes.OFF if self.spec.processors.aes is False else None
        cpus = own_cpus(
            self.spec.cpus,
            {name: survey.cpus for name, survey in self._before.items()},
            {name: host.contact.boot for name, host in self._hosts.items()},
        )
        for node in self.spec.topology.nodes:
            host, end = reached[node.name].host, reached[node.name].end
            self._nodes[node.name] = SshNode(
                host, node.name, node.role, end, cpus=cpus[node.name], variables=variables
            )
            self._nodes[node.name].peers = {
                other: str(reached[other].end.address.ip)
                for other in self._others(node.name)[:MOST_PEERS]
            }
            client = host.contact.client
            if client is not None and client[0] in ways[node.name]:
                self._management[node.name] = ways[node.name][client[0]]
        self._note_ends()
        if self.impairs:
            names = list(self._nodes)
            wanted = dict(zip(names, at_once(self._requested, names), strict=True))
            at_once(lambda name: impair(self._hosts[name], self._device(name), wanted[name]), names)

    def _requested(self, name: str) -> list[Towards]:
        """What the conditions request of the packets that a node sends on its paths, less what the
        link has: found before any end is impaired."""
        host = self._hosts[name]
        towards: dict[str, Towards] = {}
        for path in self.spec.topology.paths:
            if name not in (path.source, path.target):
                continue
            forward = name == path.source
            other = path.target if forward else path.source
            link, ways = self.spec.path_link(path), self.spec.path_link(path).impairment
            one_way = ways.a_to_b if forward else ways.b_to_a
            peer = self._nodes[other].underlay.address.ip
            if one_way.delay_ns:
                one_way = less_the_own(one_way, round_trip_ns(host, peer))
            towards[other] = Towards(peer, one_way, one_way.rate_on(link.rate_bps), link.mtu)
        return list(towards.values())

    def _ways(self, name: str, reached: Mapping[str, Reached]) -> dict[str, Way]:
        """From a host to the other ends of its paths, and to the controller."""
        addresses = [str(reached[other].end.address.ip) for other in self._others(name)]
        client = self._hosts[name].contact.client
        if client is not None and network.is_routed(client[0]):
            addresses.append(client[0])
        return network.ways_to(self._hosts[name], addresses)

    def _others(self, name: str) -> list[str]:
        """The other ends of a node's paths."""
        paths = [path for path in self.spec.topology.paths if name in (path.source, path.target)]
        ends = (path.target if path.source == name else path.source for path in paths)
        return list(dict.fromkeys(ends))

    def _note_ends(self) -> None:
        """Offloads of a real card are as they are: proofs must expect super-packets. An MTU that
        the study does not write is the devices'."""
        ends = {end.name: end for path in self.spec.topology.paths for end in self.ends(path)}
        found = at_once(
            lambda name: facts.makes_super_packets(self._nodes[name], self._device(name)), [*ends]
        )
        on = dict(zip(ends, found, strict=True))
        for path in self.spec.topology.paths:
            offloads = on[path.source] or on[path.target]
            mtu = min(self._mtu(path.source), self._mtu(path.target))
            links = {}
            for one, _ in self.spec.topology.between(path.source, path.target):
                link = replace(self.spec.link_of(one.name), offloads=offloads)
                links[one.name] = link if link.mtu_requested else replace(link, mtu=mtu)
            self.spec = replace(self.spec, links={**self.spec.links, **links})

    def _mtu(self, name: str) -> int:
        """Of the measured device, in bytes."""
        device = self._device(name)
        links = self._before[name].links
        return next(int(link["mtu"]) for link in links if link["ifname"] == device)

    def _device(self, name: str) -> str:
        return self._nodes[name].underlay.device


def _prepared(host: SshHost) -> Survey:
    """Nothing of an earlier trial is left there."""
    host.reset()
    return Survey.of(host)


def wrong_clock(host: SshHost) -> NotPossible | None:
    """The error for a clock with which certificates are not valid."""
    offset_s = host.contact.clock_offset_s
    if abs(offset_s) <= MOST_OFFSET_S:
        return None
    return NotPossible(
        f"host {host.name}",
        f"its clock is {abs(offset_s):.0f} s {'ahead' if offset_s > 0 else 'behind'}",
        "set it on the host: chronyc makestep, or date -s",
    )


def _reset(host: SshHost) -> None:
    if host.agent.alive():
        host.reset()

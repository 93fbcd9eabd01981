"""A study's lab on links that are real: without what only emulated ones have, without routers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.errors import NotPossible
from culvert.topology.graph import Network, Role, Topology
from culvert.topology.ip import IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import AS_THEY_ARE, LabSpec

_REMEDY = "measure this condition in the lab netns, or leave it out"


def refuse_emulated(spec: LabSpec) -> None:
    """Raise NotPossible for conditions that only a lab of this machine can create."""
    if spec.underlay is IpVersion.V6:
        raise NotPossible(
            "an underlay of IPv6", "the links between hosts are measured in IPv4", _REMEDY
        )
    if spec.inner is IpVersion.V6:
        raise NotPossible(
            "IPv6 inside VPNs",
            "IPv6 on new devices is a setting of each host, which Culvert does not change",
            _REMEDY,
        )
    refuse_topology(spec.topology)
    if replace(spec.processors, aes=None) != AS_THEY_ARE:
        raise NotPossible(
            "router, rps, rfs, xps or interrupts",
            "they would change settings of the whole host",
            _REMEDY,
        )


def refuse_topology(topology: Topology) -> None:
    """Raise NotPossible for nodes and networks that only a lab of this machine can create."""
    for node in topology.nodes:
        if node.nat is not None or node.blocks_udp or node.filters:
            raise NotPossible(
                f"router {node.name}",
                "hosts have real routers, which Culvert does not change",
                _REMEDY,
            )
    if topology.of_role(Role.BEHIND):
        raise NotPossible(
            "a host behind the gateway", "Culvert does not create networks between hosts", _REMEDY
        )
    if topology.full_tunnel:
        raise NotPossible(
            f"topology {topology.name}",
            "a tunnel as default route would also carry, or cut, the SSH connection to the host; "
            "and the provider's router, which sees what leaks, is not a host",
            "measure it in the lab netns, or with --lab vm if a kernel lacks the VPN",
        )


def possible(topologies: Sequence[Topology]) -> list[Topology]:
    """Those that hosts can be; raises NotPossible if none can."""
    found: list[Topology] = []
    refused: list[NotPossible] = []
    for topology in topologies:
        try:
            refuse_topology(topology)
        except NotPossible as error:
            refused.append(error)
        else:
            found.append(topology)
    if not found:
        raise refused[0]
    return found


def without_routers(spec: LabSpec) -> LabSpec:
    """The lab without routers: each path has a link of its own, with what the study requests of
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

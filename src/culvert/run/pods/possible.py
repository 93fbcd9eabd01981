"""What cells request that pods cannot do: known before their first trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from culvert.errors import NotPossible
from culvert.labs.capability import Capability
from culvert.labs.kubernetes.pods.node import PodNode
from culvert.machine.trials.privileges import parse_effective
from culvert.measurements.base import Measurement
from culvert.measurements.instruments.base import Instrument
from culvert.study.parameters import CONGESTION
from culvert.topology.ip import IpVersion
from culvert.topology.link.impairment import CLEAN
from culvert.topology.shapes import pair
from culvert.topology.spec import AS_THEY_ARE, LabSpec

_ELSEWHERE = "run it in the lab netns"
_ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
_DEFAULT = "/proc/sys/net/ipv4/tcp_congestion_control"
_STATUS = "/proc/self/status"


def refuse(spec: LabSpec, measurement: Measurement[Any], parameters: BaseModel) -> None:
    """Raise NotPossible for what the pods of no cluster can do."""
    if measurement.drives_tunnel or measurement.of_the_link:
        raise NotPossible(
            f"{measurement.kind} in a cluster",
            "it starts a tunnel, or measures a link, of Culvert's own",
            _ELSEWHERE,
        )
    if IpVersion.V6 in (spec.underlay, spec.inner):
        raise NotPossible(
            "IPv6 below the VPNs or inside",
            "pods are measured over the addresses that the cluster gives them",
            _ELSEWHERE,
        )
    between_pods(spec)
    instrument = getattr(parameters, "instrument", None)
    if isinstance(instrument, Instrument) and instrument is not Instrument.PROBE:
        raise NotPossible(
            f"{measurement.kind} by {instrument} in a cluster",
            "only the probe is started at both ends of a path between pods",
            'write instrument = "probe", or measure it in the lab netns',
        )
    for node in spec.topology.nodes:
        if node.nat is not None or node.blocks_udp or node.filters:
            raise NotPossible(
                f"router {node.name} in a cluster",
                "pods have the routers of their cluster, without a NAT or filter of Culvert's",
                _ELSEWHERE,
            )
    if spec.links or spec.cpus is not None:
        raise NotPossible(
            "links of their own in a cluster" if spec.links else "CPUs of each node in a cluster",
            "the ends of a path are pods, which the cluster places on its nodes",
            f"leave {'links' if spec.links else 'cores and cpus'} out, or {_ELSEWHERE}",
        )


def refuse_as_it_is(spec: LabSpec) -> None:
    """Raise NotPossible for what only links and nodes of Culvert's own have."""
    link = spec.link
    if link.impairment or link.rate_bps is not None or link.mtu_requested:
        raise NotPossible(
            "impairments in a cluster" if not link.mtu_requested else f"mtu = {link.mtu}",
            "Culvert does not change the links of a cluster",
            "leave rate, mtu, loss and delay out, or use --cluster embedded",
        )
    if spec.processors != AS_THEY_ARE:
        raise NotPossible(
            "aes, router, rps, rfs, xps or interrupts in a cluster",
            "Culvert does not change the nodes of a cluster",
            "leave them out, or use --cluster embedded",
        )
    if spec.overlay_mtu is not None:
        raise NotPossible(
            f"overlay_mtu = {spec.overlay_mtu}",
            "the pods of this cluster have the MTU that its network gives them",
            "leave it out, or use --cluster embedded",
        )


def between_pods(spec: LabSpec) -> LabSpec:
    """The part of a condition that pods see: two ends, and links like those below the cluster.

    Raises NotPossible for several measured paths.
    """
    if len(spec.topology.paths) != 1:
        raise NotPossible(
            f"{len(spec.topology.paths)} paths of the topology {spec.topology.name} in a cluster",
            "one path between two pods is measured",
            f"leave paths out, or {_ELSEWHERE}",
        )
    crosses = spec.pods is None or spec.pods.of_two_nodes
    link = spec.link if crosses else replace(spec.link, rate_bps=None, impairment=CLEAN)
    return replace(spec, topology=pair(), link=link, links={}, cpus=None, firewall=None)


def congestion_of(parameters: BaseModel) -> str | None:
    """The congestion control that a cell requests, if its measurement has one."""
    wanted = getattr(parameters, CONGESTION, None)
    return None if wanted is None else str(wanted)


def allowed_in(pods: Sequence[PodNode]) -> frozenset[str] | None:
    """The congestion controls that all these pods may use; None: any, or not known."""
    allowed: frozenset[str] | None = None
    for pod in pods:
        try:
            files = pod.read_all([_ALLOWED, _DEFAULT, _STATUS])
        except OSError:  # a kernel before Linux 5.7 does not show it to a pod
            continue
        if not _is_network_admin(files):
            here = frozenset(f"{files[_ALLOWED]} {files[_DEFAULT]}".split())
            allowed = here if allowed is None else allowed & here
    return allowed


def _is_network_admin(files: Mapping[str, str]) -> bool:
    """Whether the capability that permits every congestion control is effective
    (capabilities(7))."""
    effective = parse_effective(files[_STATUS]) or 0
    return bool(effective >> Capability.NET_ADMIN & 1)

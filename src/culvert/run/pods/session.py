"""A session between two pods: no capture there, and a service in front of the target if wanted.

The network of the cluster is in the place of a VPN: pods use it as it is.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import Any

from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.labs.kubernetes.pods.manifests import SERVICE_PORTS
from culvert.labs.kubernetes.pods.node import PodNode
from culvert.probe.client import Probe, Task
from culvert.probe.results import Captured
from culvert.probe.results.capture import Others, TwoWay
from culvert.topology.ip import Address
from culvert.trial.echo import Echo
from culvert.trial.outside import Capture, Outside, View
from culvert.trial.session import Session
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn

FIRST_PACKET_S = 30.0
_LISTENERS = frozenset({"tcp_sink", "udp_sink", "echo", "tcp_responder"})


class Unseen(Capture):
    """No capture: a pod has no right to one. The observers on the nodes capture instead."""

    def ready(self) -> None:
        """Return at once: there is nothing to wait for."""

    def end(self) -> Captured:
        return Captured(
            packets=0,
            bytes=0,
            matching=TwoWay.model_validate({"in": {}}),
            other=Others(),
            seen_by="not captured in a pod",
        )


class NoOutside(Outside):
    """The link of pods cannot be captured from within them."""

    def __init__(self) -> None:
        """There is nothing to know about it."""

    def begin(self, name: str, view: View, *, sample_one_in: int = 1, **kept: int) -> Capture:
        del name, view, sample_one_in, kept
        return Unseen()

    def beside(self, name: str) -> Mapping[str, Any] | None:
        del name
        return None


class ClusterNetwork(NoVpn[PodNode]):
    """Named after the VPN under the cluster: the pods see no tunnel of their own."""

    cpu_attributable = False

    def __init__(self, under: Vpn) -> None:
        super().__init__(NoVpn.variants[0])
        self._under = under

    @property
    def id(self) -> str:
        return self._under.id

    def inner(self, node: PodNode) -> IPv4Interface:
        """The pod's address; the service's for the target behind one."""
        lab = self.lab
        assert isinstance(lab, KubernetesLab)
        service = lab.service_address
        if service is not None and node.name == lab.b.name:
            return IPv4Interface(f"{service}/32")
        return node.underlay.address

    def traffic_address(self, node: PodNode) -> Address:
        return self.inner(node).ip


@dataclass
class PodSession(Session[PodNode]):
    """A session whose packets are not captured at its ends."""

    lab: KubernetesLab

    @property
    def outside(self) -> Outside:
        return NoOutside()


class ServiceProbe(Probe):
    """The probe of a pod behind a service: it listens at the pod's address, on ports that the
    service passes on."""

    def __init__(self, node: PodNode, service: str) -> None:
        super().__init__(node)
        self._service = service
        self._own = str(node.underlay.address.ip)
        self._ports = itertools.cycle(SERVICE_PORTS)

    def begin(self, task: str, **parameters: Any) -> Task:
        """Start a task; one that would listen at the service's address listens at the pod's."""
        if parameters.get("bind") == self._service:
            parameters["bind"] = self._own
            if task in _LISTENERS and not parameters.get("port"):
                parameters["port"] = next(self._ports)
        return super().begin(task, **parameters)


def open_session(stack: ExitStack, lab: KubernetesLab, network: ClusterNetwork) -> PodSession:
    """Probes in both pods of a lab that is open."""
    near = stack.enter_context(Probe(lab.a))
    service = lab.service_address
    far = Probe(lab.b) if service is None else ServiceProbe(lab.b, str(service))
    stack.enter_context(far)
    return PodSession(lab, network, lab.path, near, far)


def first_packet(session: PodSession) -> float:
    """Wait until the path carries a packet there and back; the time (monotonic) when it did."""
    with Echo(session, idle_s=FIRST_PACKET_S + 15) as echo:
        answer = echo.begin_first_answer(interval_us=5000, deadline_s=FIRST_PACKET_S)
        answer.result(FIRST_PACKET_S + 5)
        return time.monotonic()

"""Observers on the nodes of a trial's pods: made for one trial, where the proof is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from ipaddress import IPv4Address, ip_address
from itertools import count

from culvert.labs.kubernetes.pods.choice import ClusterNodeInfo
from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.labs.kubernetes.pods.manifests import PodPlan
from culvert.labs.kubernetes.pods.node import PodAddress, PodNode
from culvert.labs.kubernetes.pods.workspace import Workspace
from culvert.probe.client import Probe
from culvert.proof.cluster.observer import Observer


class Observers:
    """One on each of the cluster's nodes that was requested, until it is closed."""

    def __init__(
        self,
        workspace: Workspace,
        devices: Sequence[str] = (),
        relays: Sequence[IPv4Address] = (),
    ) -> None:
        """``devices`` are those by which packets leave each node, if they are known; ``relays``
        addresses of others through which the nodes may reach each other."""
        self._devices = devices
        self._relays = relays
        self._workspace = workspace
        self._stack = ExitStack()
        self._made: dict[str, Observer] = {}
        self._numbers = count()

    def on(self, lab: KubernetesLab) -> list[Observer]:
        """The observers of the nodes of a lab's pods, the source's first, each once."""
        hosts = {node.host.name: node.host for node in (lab.a, lab.b)}
        self._forget_dead()
        missing = [host for host in hosts.values() if host.name not in self._made]
        plans = [self._plan(host) for host in missing]
        for plan in plans:
            self._workspace.start(plan)
        for host, plan in zip(missing, plans, strict=True):
            self._made[host.name] = self._observe(host, plan)
        found = [self._made[name] for name in hosts]
        for each in found:
            inside = [node for node in (lab.a, lab.b) if node.host.name == each.node]
            each.ends = {node.end for node in inside if node.end is not None}
        return found

    def _forget_dead(self) -> None:
        """An observer whose probe has ended, for example at its time limit, is made anew."""
        dead = [name for name, one in self._made.items() if one.probe.broken() is not None]
        for name in dead:
            del self._made[name]

    def close(self) -> None:
        """End the probes; the pods are removed with their namespace."""
        self._stack.close()
        self._made.clear()

    def _plan(self, host: ClusterNodeInfo) -> PodPlan:
        name = f"observer-{next(self._numbers)}-{_word(host.name)}"
        return self._workspace.plan(name, host.name, host_network=True, observer=True)

    def _observe(self, host: ClusterNodeInfo, plan: PodPlan) -> Observer:
        pod = self._workspace.await_running(plan)
        where = PodAddress.of(pod)
        node = PodNode(f"observer on {host.name}", self._workspace.api, where, host)
        self._stack.callback(node.close)
        probe = self._stack.enter_context(Probe(node))
        own = ip_address(host.address) if host.address else None
        known = [own, *self._relays] if isinstance(own, IPv4Address) else self._relays
        return Observer(host.name, probe, self._devices, known)


def _word(name: str) -> str:
    return name.replace(".", "-")[:40].strip("-").lower()

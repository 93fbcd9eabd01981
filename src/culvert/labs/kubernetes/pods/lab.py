"""The lab ``kubernetes``: the ends of a path are pods of a cluster, made for one trial.

::

    two-nodes      pod a (node 1) ──── cluster's network ──── pod b (node 2)
    one-node       pod a (node 1) ──── node 1 ─────────────── pod b (node 1)
    service        pod a (node 1) ──── service ────────────── pod b (node 2)
    host-network   pod a in the network of node 1 ─────────── pod b in that of node 2
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address

from culvert.errors import CulvertError, LabError, NotPossible
from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.labs.kubernetes.api.refusal import ApiError
from culvert.labs.kubernetes.pods import choice, copied, manifests, state
from culvert.labs.kubernetes.pods.choice import ANYWHERE, By, Chosen, ClusterNodeInfo, Wish
from culvert.labs.kubernetes.pods.manifests import PodPlan
from culvert.labs.kubernetes.pods.node import PodAddress, PodNode
from culvert.labs.kubernetes.pods.workspace import Workspace
from culvert.labs.together import at_once
from culvert.runid import new_run_id
from culvert.topology.plan import Attachment
from culvert.topology.spec import LabSpec, Placement


@dataclass(frozen=True)
class Wishes:
    """Where a path's ends should be."""

    source: Wish = ANYWHERE
    target: Wish = ANYWHERE


NO_WISHES = Wishes()


class KubernetesLab(Lab[PodNode]):
    """``shared_kernel``: all nodes of the cluster run on this machine's kernel. ``below`` returns
    what of the cluster itself has died, where that is known."""

    overlaid = True

    def __init__(
        self,
        workspace: Workspace,
        spec: LabSpec,
        wishes: Wishes = NO_WISHES,
        *,
        shared_kernel: bool = False,
        below: Callable[[], CulvertError | None] = lambda: None,
    ) -> None:
        self.run_id = new_run_id()
        self.spec = spec
        self.workspace = workspace
        self.placement = spec.pods or Placement.TWO_NODES
        self.shared_kernel = shared_kernel
        self._below = below
        self.begun_s = 0.0
        """When its opening began, on CLOCK_MONOTONIC."""
        self.service_address: IPv4Address | None = None
        """The service's address, for the placement that has one."""
        self.started_s: dict[str, float] = {}
        """Seconds from the creation of each pod until it ran, by node."""
        self._service: str | None = None
        self._wishes = wishes
        self._plans: dict[str, PodPlan] = {}
        self._nodes: dict[str, PodNode] = {}

    @property
    def nodes(self) -> Mapping[str, PodNode]:
        return self._nodes

    @property
    def hosts(self) -> Sequence[Host]:
        """None: no program is installed in a cluster."""
        return ()

    @property
    def shared_processes(self) -> bool:
        """A pod sees its own processes only."""
        return False

    def attachments(self, node: str) -> tuple[Attachment, ...]:
        return (self._nodes[node].underlay,)

    def broken(self) -> CulvertError | None:
        """What has died below it; a pod that has ended or is gone, or a node that is not ready any
        more."""
        try:
            return self._below() or self._broken()
        except ApiError:  # it says nothing about the pods
            return None
        except LabError as error:
            return error

    def open(self) -> None:
        """Choose nodes, create pods, wait until they run. After an error nothing remains."""
        self.begun_s = time.monotonic()
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Delete the pods and wait until they are gone. Idempotent."""
        for node in self._nodes.values():
            node.close()
        for name, node in self._nodes.items():
            if name not in self._plans:
                with suppress(CulvertError):  # the user's pod may have ended
                    copied.remove(node)
        self._nodes.clear()
        self.workspace.remove(*self._plans.values())
        self._plans.clear()
        if self._service is not None:
            self.workspace.remove_service(self._service)
            self._service = self.service_address = None

    def _broken(self) -> CulvertError | None:
        for plan in self._plans.values():
            failed = state.failure(self.workspace.read(plan))
            if failed is not None:
                return failed
        ready = {node.name for node in choice.nodes_of(self.workspace.api) if node.usable}
        for node in self._nodes.values():
            if node.host.name not in ready:
                return LabError(
                    f"node {node.host.name} of the cluster",
                    "it is not ready any more",
                    "see `kubectl describe node`; repeat the trial when it is back",
                )
        return None

    def _open(self) -> None:
        found = choice.nodes_of(self.workspace.api)
        wishes = {self.path.source: self._wishes.source, self.path.target: self._wishes.target}
        theirs = {name: wish for name, wish in wishes.items() if wish.by is By.POD}
        chosen = self._choose(found, theirs)
        hosts = {self.path.source: chosen.source, self.path.target: chosen.target}
        begun: dict[str, float] = {}
        for name, host in hosts.items():
            if name in theirs:
                continue
            plan = self._plan(name, host)
            self._plans[name] = plan
            begun[name] = time.monotonic()
            self.workspace.start(plan)
        if self.placement is Placement.SERVICE:
            selector = {manifests.ROLE: self._label(self.path.target)}
            self._service = manifests.service_name(self.run_id)
            self.service_address = self.workspace.make_service(self._service, selector)

        def running(name: str) -> PodAddress:
            pod = self.workspace.await_running(self._plans[name])
            self.started_s[name] = time.monotonic() - begun[name]
            return PodAddress.of(pod)

        made = dict(zip(self._plans, at_once(running, [*self._plans]), strict=True))
        for name, host in hosts.items():
            self._nodes[name] = (
                copied.node(self.workspace, name, theirs[name], host)
                if name in theirs
                else PodNode(name, self.workspace.api, made[name], host)
            )

    def _choose(self, found: list[ClusterNodeInfo], theirs: Mapping[str, Wish]) -> Chosen:
        if self.placement is Placement.SERVICE and self.path.target in theirs:
            raise NotPossible(
                f"the placement {self.placement} to pod {theirs[self.path.target].value}",
                "the run's service passes packets on to a pod of the run",
                "leave --to out, or name a placement without a service (--traffic, or pods = in "
                f"the study): {Placement.TWO_NODES}",
            )
        wishes = [
            Wish(By.NAME, copied.node_of(self.workspace.api, wish, self.placement))
            if wish.by is By.POD
            else wish
            for wish in (self._wishes.source, self._wishes.target)
        ]
        return choice.choose(found, self.placement, *wishes)

    def _plan(self, name: str, host: ClusterNodeInfo) -> PodPlan:
        return self.workspace.plan(
            self._label(name),
            host.name,
            host_network=self.placement is Placement.HOST_NETWORK,
            labels={manifests.ROLE: self._label(name)},
        )

    def _label(self, name: str) -> str:
        return f"{self.run_id}-{name}"

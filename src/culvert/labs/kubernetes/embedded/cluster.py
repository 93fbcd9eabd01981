"""The embedded cluster: a control plane and workers on the nodes of a lab in namespaces.

::

    control    etcd ── API server, controller manager, scheduler
                           │
    workers    kubelet ── containerd ── pods          kube-proxy: services
               Calico (felix, CNI plugin): VXLAN between the workers' devices
               ═══════ the underlay: a VPN's device on each node, or the lab's link ═══════

It is upstream Kubernetes and not a distribution such as K3s: etcd without fsync, one API server,
no DNS for services, no controllers of Calico's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from culvert.errors import CulvertError, LabError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.embedded import settings
from culvert.labs.kubernetes.embedded.control_plane import DIAL_S, ControlPlane
from culvert.labs.kubernetes.embedded.node import ClusterNode, Underlay
from culvert.labs.kubernetes.embedded.programs.built import ClusterPrograms
from culvert.labs.kubernetes.embedded.worker import Worker
from culvert.labs.kubernetes.image import Image
from culvert.labs.kubernetes.pods.choice import ClusterNodeInfo
from culvert.labs.kubernetes.pods.rights import readers
from culvert.labs.netns.lab import NetnsLab
from culvert.waiting import wait_until

API_DEADLINE_S = 60.0
READY_DEADLINE_S = 90.0
POLL_S = 0.05
_READERS = "culvert-readers"


class EmbeddedCluster:
    """``underlays`` are those of the nodes by name, the control plane's among them; ``overlay_mtu``
    is the largest MTU of the pods, in bytes.

    Without workers it is an API server alone: objects can be made, and no pod starts.
    """

    def __init__(
        self,
        lab: NetnsLab,
        programs: ClusterPrograms,
        *,
        control: str,
        underlays: Mapping[str, Underlay],
        images: Sequence[Image] = (),
        overlay_mtu: int | None = None,
    ) -> None:
        self._programs = programs
        self._images = images
        self.nodes = {
            name: ClusterNode(lab.run_id, lab.nodes[name], underlay, programs.root)
            for name, underlay in underlays.items()
        }
        self.plane = ControlPlane(self.nodes[control])
        self._workers = tuple(
            Worker(node, self.plane.authority, overlay_mtu)
            for name, node in self.nodes.items()
            if name != control
        )
        self._api: Api | None = None

    @property
    def api(self) -> Api:
        """The API as the cluster's administrator sees it, once it is open."""
        if self._api is None:
            raise LabError("the embedded cluster", "is not open", "open it first")
        return self._api

    def open(self, say: Callable[[str], None]) -> None:
        """Start everything and wait until all workers are ready; ``say`` is called before each
        step. Raises LabError with the reason; the caller closes it in any case."""
        say("starting etcd and the API server")
        hosts = {node.name: node.underlay.address for node in self.nodes.values()}
        for node in self.nodes.values():
            node.start(hosts)
        for node in self.nodes.values():
            node.wait_ready()
        self.plane.start_api()
        if self._workers:
            say("starting containerd and loading images")
        with ThreadPoolExecutor(max_workers=len(self._workers) + 1) as pool:
            runtimes = [pool.submit(self._start_runtime, worker) for worker in self._workers]
            self._await_api()
            self._grant()
            self.plane.start_controllers()
            for runtime in runtimes:
                runtime.result()
            if self._workers:
                say("starting kubelet and Calico")
                self.plane.apply(self._programs.crds)
            list(pool.map(self._start_worker, self._workers))
        say("waiting until all nodes accept pods")
        self._await(self._all_ready, "the readiness of all nodes of the cluster")

    def close(self) -> None:
        """End every program, remove control groups. Idempotent."""
        if self._api is not None:
            self._api.close()
            self._api = None
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            list(pool.map(ClusterNode.stop, self.nodes.values()))

    def dead(self) -> LabError | None:
        """The error of a program that has ended; None if all run."""
        return next(filter(None, (node.dead() for node in self.nodes.values())), None)

    # -- its start ---------------------------------------------------------------------------------

    def _await_api(self) -> None:
        api = self._api = self.plane.api()

        def ready() -> bool:
            with suppress(CulvertError):
                # The namespace is made last: then the server's own objects exist. And a controller
                # manager ends if the server does not become healthy within 10 s of its start.
                made = api.core.read_namespace("default", _request_timeout=DIAL_S) is not None
                return made and api.healthy()
            return False

        self._await(lambda: _quietly(ready), "the API server's health", API_DEADLINE_S)

    def _grant(self) -> None:
        """Pods may list pods with their token, as ``k8s_api`` does with ``token = true``."""
        role, binding = readers(_READERS)
        roles = self.api.roles
        self.api.create(f"role {_READERS}", roles.create_cluster_role, role)
        self.api.create(f"role binding {_READERS}", roles.create_cluster_role_binding, binding)

    def _start_runtime(self, worker: Worker) -> None:
        ready = worker.start_runtime()
        self._await(ready.exists, f"containerd on node {worker.name}")
        pause = self._programs.program("pause").read_bytes()
        for image in (Image(settings.PAUSE_IMAGE, ("/pause",), {"/pause": pause}), *self._images):
            worker.load(image)

    def _start_worker(self, worker: Worker) -> None:
        worker.start_kubelet()
        self._await(
            lambda: _quietly(lambda: self.api.core.read_node(worker.name) is not None),
            f"the registration of node {worker.name}",
        )
        worker.start_calico(self.plane.kubeconfig)

    def _all_ready(self) -> bool:
        return _quietly(self._nodes_ready) and all(worker.felix_ready() for worker in self._workers)

    def _nodes_ready(self) -> bool:
        """Whether all accept pods: the taint of a node that was not ready is removed later."""
        found = map(ClusterNodeInfo.of, self.api.core.list_node().items)
        ready = {node.name for node in found if node.usable}
        accounts = self.api.core.list_namespaced_service_account("default").items
        return ready >= {one.name for one in self._workers} and bool(accounts or not self._workers)

    def _await(
        self, fact: Callable[[], object], what: str, deadline_s: float = READY_DEADLINE_S
    ) -> None:
        """Wait for a fact, unless a program that it needs has ended."""

        def true_or_dead() -> bool:
            dead = self.dead()
            if dead is not None:
                raise dead
            return bool(fact())

        wait_until(
            true_or_dead,
            what=what,
            deadline_s=deadline_s,
            poll_s=POLL_S,
            remedy="see the logs of the cluster's programs; is the machine overloaded?",
        )


def _quietly(fact: Callable[[], bool]) -> bool:
    """False where the API does not answer (yet)."""
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    with suppress(ApiException, HTTPError, OSError):
        return fact()
    return False

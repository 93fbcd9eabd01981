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

import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from culvert.errors import CulvertError, LabError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.embedded import settings
from culvert.labs.kubernetes.embedded.node import ClusterNode, Underlay
from culvert.labs.kubernetes.embedded.pki import (
    ClusterAuthority,
    Credential,
    kubeconfig,
    service_account_keys,
)
from culvert.labs.kubernetes.embedded.programs.built import ClusterPrograms
from culvert.labs.kubernetes.image import Image, archive
from culvert.labs.kubernetes.pods.choice import ClusterNodeInfo
from culvert.labs.netns.lab import NetnsLab
from culvert.waiting import wait_until

API_DEADLINE_S = 60.0
READY_DEADLINE_S = 90.0
POLL_S = 0.05
DIAL_S = 10.0
_ADMIN = "system:masters"


@dataclass(frozen=True)
class StartTimes:
    """Seconds from the beginning of a start to each fact."""

    nodes: float
    api: float
    workers: float
    ready: float


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
        self._overlay_mtu = overlay_mtu
        self._programs = programs
        self._images = images
        self._nodes = {
            name: ClusterNode(lab.run_id, lab.nodes[name], underlay, programs.root)
            for name, underlay in underlays.items()
        }
        self.control = self._nodes[control]
        self.workers = tuple(node for node in self._nodes.values() if node is not self.control)
        self._authority = ClusterAuthority()
        self._api: Api | None = None
        self._admin = ""
        self.times: StartTimes | None = None

    @property
    def api(self) -> Api:
        """The API as the cluster's administrator sees it, once it is open."""
        if self._api is None:
            raise LabError("the embedded cluster", "is not open", "open it first")
        return self._api

    @property
    def kubeconfig(self) -> str:
        """The administrator's, once it is open, with the server's address in the nodes' network."""
        return self._admin

    @property
    def server(self) -> str:
        """The URL of the API server, as the nodes reach it."""
        return f"https://{self.control.underlay.address}:{settings.API_PORT}"

    def open(self) -> None:
        """Start everything and wait until all workers are ready. Raises LabError with the reason;
        the caller closes it in any case."""
        begun = time.monotonic()

        def since() -> float:
            return round(time.monotonic() - begun, 2)

        hosts = {node.name: node.underlay.address for node in self._nodes.values()}
        for node in self._nodes.values():
            node.start(hosts)
        for node in self._nodes.values():
            node.wait_ready()
        nodes_s = since()
        self._start_control()
        with ThreadPoolExecutor(max_workers=len(self.workers) + 1) as pool:
            runtimes = [pool.submit(self._start_runtime, node) for node in self.workers]
            self._await_api()
            api_s = since()
            self._start_controllers()
            for runtime in runtimes:
                runtime.result()
            if self.workers:
                self._make_definitions()
            for worker in pool.map(self._start_worker, self.workers):
                del worker
        workers_s = since()
        self._await(self._all_ready, "the readiness of all nodes of the cluster")
        self.times = StartTimes(nodes_s, api_s, workers_s, since())

    def close(self) -> None:
        """End every program, remove control groups. Idempotent."""
        if self._api is not None:
            self._api.close()
            self._api = None
        with ThreadPoolExecutor(max_workers=len(self._nodes)) as pool:
            list(pool.map(ClusterNode.stop, self._nodes.values()))

    def dead(self) -> LabError | None:
        """The error of a program that has ended; None if all run."""
        return next(filter(None, (node.dead() for node in self._nodes.values())), None)

    def user(self, name: str, group: str = "") -> Api:
        """The API as another user sees it, with no rights unless they are granted."""
        credential = self._authority.issue(name, group)
        config = kubeconfig(self.server, self._authority.certificate, credential)
        return Api.within(config, self._dial)

    def node(self, name: str) -> ClusterNode:
        """A node by name."""
        return self._nodes[name]

    @property
    def nodes(self) -> tuple[ClusterNode, ...]:
        """All nodes, the control plane's among them."""
        return tuple(self._nodes.values())

    def load(self, image: Image) -> None:
        """Import an image on every worker."""
        for worker in self.workers:
            self._import(worker, image)

    # -- the control plane -------------------------------------------------------------------------

    def _start_control(self) -> None:
        node, address = self.control, self.control.underlay.address
        api = self._authority.issue(
            "kube-apiserver",
            names=("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"),
            addresses=(address, settings.API_SERVICE, settings.LOOPBACK),
        )
        service, admin = service_account_keys(), self._authority.issue("admin", _ADMIN)
        self._files = settings.Files(
            authority=self._public("ca.crt", self._authority.certificate),
            api_certificate=self._public("api.crt", api.certificate),
            api_key=self._secret(node, "api.key", api.key),
            kubelet_certificate=self._public("admin.crt", admin.certificate),
            kubelet_key=self._secret(node, "admin.key", admin.key),
            service_public=self._public("service.pub", service.certificate),
            service_private=self._secret(node, "service.key", service.key),
        )
        self._admin = kubeconfig(self.server, self._authority.certificate, admin)
        node.write("etcd/.keep", "")
        node.spawn("etcd", settings.etcd(f"{node.directory}/etcd"))
        node.spawn("kube-apiserver", settings.api_server(address, self._files))

    def _await_api(self) -> None:
        api = Api.within(self._admin, self._dial)
        self._api = api

        def answers() -> bool:
            with suppress(CulvertError):
                # The namespace is made last: then the server's own objects exist.
                return api.core.read_namespace("default", _request_timeout=DIAL_S) is not None
            return False

        self._await(lambda: _quietly(answers), "the API server's first answer", API_DEADLINE_S)

    def _start_controllers(self) -> None:
        node = self.control
        manager = self._user(node, "system:kube-controller-manager")
        node.spawn("kube-controller-manager", settings.controllers(manager, self._files))
        node.spawn("kube-scheduler", settings.scheduler(self._user(node, "system:kube-scheduler")))

    def _make_definitions(self) -> None:
        path = self._secret(self.control, "admin.kubeconfig", self._admin.encode())
        apply = ["/usr/bin/kubectl", f"--kubeconfig={path}", "apply", "--server-side", "-f"]
        self.control.run([*apply, str(self._programs.crds)], timeout_s=API_DEADLINE_S)

    # -- workers -----------------------------------------------------------------------------------

    def _start_runtime(self, node: ClusterNode) -> None:
        config = node.write("containerd.toml", settings.CONTAINERD)
        node.spawn("containerd", ["/usr/bin/containerd", "-c", str(config), "-l", "warn"])
        socket_path = node.at.directory / "run/containerd/containerd.sock"
        self._await(socket_path.exists, f"containerd on node {node.name}")
        pause = self._programs.program("pause").read_bytes()
        images = (Image(settings.PAUSE_IMAGE, ("/pause",), {"/pause": pause}), *self._images)
        for image in images:
            self._import(node, image)

    def _import(self, node: ClusterNode, image: Image) -> None:
        name = f"image-{secrets.token_hex(4)}.tar"
        path = node.write(name, archive(image))
        argv = ["/usr/bin/ctr", "-a", settings.CONTAINERD_SOCKET, "-n", "k8s.io", "images"]
        node.run([*argv, "import", str(path)], timeout_s=API_DEADLINE_S)
        path.unlink()

    def _start_worker(self, node: ClusterNode) -> None:
        name, address = node.name, node.underlay.address
        own = self._authority.issue(
            f"system:node:{name}", "system:nodes", names=(name,), addresses=(address,)
        )
        authority = str(node.write("ca.crt", self._authority.certificate))
        config = node.write(
            "kubelet.json",
            settings.kubelet_config(
                authority=authority,
                certificate=str(node.write("kubelet.crt", own.certificate)),
                key=self._secret(node, "kubelet.key", own.key),
                group=node.group,
                resolver=f"{node.directory}/resolv.conf",
            ),
        )
        access = self._kubeconfig(node, "kubelet", own)
        node.spawn("kubelet", settings.kubelet(name, address, str(config), access))
        node.spawn("kube-proxy", settings.proxy(name, self._user(node, "system:kube-proxy")))
        api = self.api
        self._await(
            lambda: _quietly(lambda: api.core.read_node(name) is not None),
            f"the registration of node {name}",
        )
        self._start_calico(node)

    def _start_calico(self, node: ClusterNode) -> None:
        mtu = self._mtu(node)
        access = self._secret(node, "calico.kubeconfig", self._admin.encode())
        env = settings.calico_environment(node.name, access, node.underlay.device, mtu)
        program = "/usr/bin/calico-node"
        node.run([program, "-startup"], env=env, timeout_s=API_DEADLINE_S)
        addresses = ["-allocate-tunnel-addrs", "-allocate-tunnel-addrs-run-once"]
        node.run([program, *addresses], env=env, timeout_s=API_DEADLINE_S)
        # Felix ends itself when its configuration changes, and expects to be started again.
        again = f"while :; do {program} -felix; sleep 1; done"
        node.spawn("felix", ["/bin/sh", "-c", again], env)
        node.run(["/bin/sh", "-c", "cat > /etc/cni/net.d/10-calico.conflist"],
                 stdin=settings.calico_network(node.name, access, mtu))  # fmt: skip

    def _mtu(self, node: ClusterNode) -> int:
        """Of the pods' network, in bytes."""
        room = node.underlay.mtu - settings.VXLAN_OVERHEAD
        return room if self._overlay_mtu is None else min(room, self._overlay_mtu)

    # -- facts -------------------------------------------------------------------------------------

    def _all_ready(self) -> bool:
        return _quietly(self._nodes_ready) and all(map(self._felix_ready, self.workers))

    def _nodes_ready(self) -> bool:
        """Whether all accept pods: the taint of a node that was not ready is removed later."""
        found = map(ClusterNodeInfo.of, self.api.core.list_node().items)
        ready = {node.name for node in found if node.usable}
        accounts = self.api.core.list_namespaced_service_account("default").items
        return ready >= {node.name for node in self.workers} and bool(accounts or not self.workers)

    def _felix_ready(self, node: ClusterNode) -> bool:
        request = b"GET /readiness HTTP/1.0\r\n\r\n"

        def answer() -> bytes:
            with socket.create_connection(("127.0.0.1", settings.FELIX_PORT), 1.0) as made:
                made.sendall(request)
                return made.recv(64)

        with suppress(OSError):
            status = node.at.inside(answer).split(b" ")[1:2]
            return bool(status) and status[0].startswith(b"2")
        return False

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

    # -- access ------------------------------------------------------------------------------------

    def _dial(self, host: str, port: int) -> socket.socket:
        """A connection from the control plane's own network."""
        made = self.control.at.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        made.settimeout(DIAL_S)
        try:
            made.connect((host, port))
        except OSError:
            made.close()
            raise
        return made

    def _user(self, node: ClusterNode, user: str) -> str:
        name = user.removeprefix("system:")
        return self._kubeconfig(node, name, self._authority.issue(user))

    def _kubeconfig(self, node: ClusterNode, name: str, credential: Credential) -> str:
        text = kubeconfig(self.server, self._authority.certificate, credential)
        return self._secret(node, f"{name}.kubeconfig", text.encode())

    def _public(self, name: str, content: bytes) -> str:
        return str(self.control.write(f"pki/{name}", content))

    @staticmethod
    def _secret(node: ClusterNode, name: str, content: bytes) -> str:
        return str(node.write(f"pki/{name}", content, secret=True))


def _quietly(fact: Callable[[], bool]) -> bool:
    """False where the API does not answer (yet)."""
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    with suppress(ApiException, HTTPError, OSError):
        return fact()
    return False

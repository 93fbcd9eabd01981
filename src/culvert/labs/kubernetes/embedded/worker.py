"""A worker of an embedded cluster: containerd, kubelet, kube-proxy and Calico on a node."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from pathlib import Path

from culvert.labs.kubernetes.embedded import settings
from culvert.labs.kubernetes.embedded.node import ClusterNode
from culvert.labs.kubernetes.embedded.pki import ClusterAuthority
from culvert.labs.kubernetes.image import Image, archive

RUN_S = 60.0
_CALICO = "/usr/bin/calico-node"


class Worker:
    """``overlay_mtu`` is the largest MTU of its pods, in bytes; None: what the underlay leaves."""

    def __init__(
        self, node: ClusterNode, authority: ClusterAuthority, overlay_mtu: int | None
    ) -> None:
        self.node = node
        self.name = node.name
        self._authority = authority
        room = node.underlay.mtu - settings.VXLAN_OVERHEAD
        self._mtu = room if overlay_mtu is None else min(room, overlay_mtu)

    # -- containers --------------------------------------------------------------------------------

    def start_runtime(self) -> Path:
        """Start containerd; return the path of its socket, which exists once it is ready."""
        config = self.node.write("containerd.toml", settings.CONTAINERD)
        self.node.spawn("containerd", ["/usr/bin/containerd", "-c", str(config), "-l", "warn"])
        return self.node.at.directory / "run/containerd/containerd.sock"

    def load(self, image: Image) -> None:
        """Import an image, once containerd is ready."""
        path = self.node.write(f"image-{secrets.token_hex(4)}.tar", archive(image))
        argv = ["/usr/bin/ctr", "-a", settings.CONTAINERD_SOCKET, "-n", "k8s.io", "images"]
        self.node.run([*argv, "import", str(path)], timeout_s=RUN_S)
        path.unlink()

    # -- Kubernetes --------------------------------------------------------------------------------

    def start_kubelet(self) -> None:
        """Start the kubelet, which registers the node, and kube-proxy."""
        node, address, authority = self.node, self.node.underlay.address, self._authority
        own = authority.issue(
            f"system:node:{self.name}", "system:nodes", names=(self.name,), addresses=(address,)
        )
        config = node.write(
            "kubelet.json",
            settings.kubelet_config(
                authority=str(node.write("ca.crt", authority.certificate)),
                certificate=str(node.write("kubelet.crt", own.certificate)),
                key=node.secret("kubelet.key", own.key),
                group=node.group,
                resolver=f"{node.directory}/resolv.conf",
            ),
        )
        access = node.secret("kubelet.kubeconfig", authority.kubeconfig(own))
        proxy = node.secret("kube-proxy.kubeconfig", authority.kubeconfig_of("system:kube-proxy"))
        node.spawn("kubelet", settings.kubelet(self.name, address, str(config), access))
        node.spawn("kube-proxy", settings.proxy(self.name, proxy))

    # -- the pods' network -------------------------------------------------------------------------

    def start_calico(self, kubeconfig: str) -> None:
        """Start Calico with the administrator's rights, once the node is registered."""
        node = self.node
        access = node.secret("calico.kubeconfig", kubeconfig)
        env = settings.calico_environment(self.name, access, node.underlay.device, self._mtu)
        node.run([_CALICO, "-startup"], env=env, timeout_s=RUN_S)
        addresses = ["-allocate-tunnel-addrs", "-allocate-tunnel-addrs-run-once"]
        node.run([_CALICO, *addresses], env=env, timeout_s=RUN_S)
        # Felix ends itself when its configuration changes, and expects to be started again.
        again = f"while :; do {_CALICO} -felix; sleep 1; done"
        node.spawn("felix", ["/bin/sh", "-c", again], env)
        node.run(["/bin/sh", "-c", "cat > /etc/cni/net.d/10-calico.conflist"],
                 stdin=settings.calico_network(self.name, access, self._mtu))  # fmt: skip

    def felix_ready(self) -> bool:
        """Whether Calico's agent has programmed the node's network."""
        request = b"GET /readiness HTTP/1.0\r\n\r\n"

        def answer() -> bytes:
            with socket.create_connection(("127.0.0.1", settings.FELIX_PORT), 1.0) as made:
                made.sendall(request)
                return made.recv(64)

        with suppress(OSError):
            status = self.node.at.inside(answer).split(b" ")[1:2]
            return bool(status) and status[0].startswith(b"2")
        return False

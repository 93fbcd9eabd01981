"""The control plane of an embedded cluster: etcd, the API server, controllers, the scheduler."""

from __future__ import annotations

from pathlib import Path

from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.embedded import settings
from culvert.labs.kubernetes.embedded.node import ClusterNode
from culvert.labs.kubernetes.embedded.pki import ClusterAuthority, service_account_keys
from culvert.labs.namespace import syscalls

APPLY_S = 60.0
DIAL_S = 10.0
_ADMIN = "system:masters"


class ControlPlane:
    """A control plane whose programs all run on one node."""

    def __init__(self, node: ClusterNode) -> None:
        self.node = node
        self.authority = ClusterAuthority(f"https://{node.underlay.address}:{settings.API_PORT}")
        self.kubeconfig = ""
        """The administrator's, once the API server is started, with its address in the nodes'
        network."""

    def start_api(self) -> None:
        """Start etcd and the API server, with new keys."""
        node, address, authority = self.node, self.node.underlay.address, self.authority
        api = authority.issue(
            "kube-apiserver",
            names=("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"),
            addresses=(address, settings.API_SERVICE, settings.LOOPBACK),
        )

        def public(name: str, content: bytes) -> str:
            return str(node.write(f"pki/{name}", content))

        service, admin = service_account_keys(), authority.issue("admin", _ADMIN)
        self._files = settings.Files(
            authority=public("ca.crt", authority.certificate),
            api_certificate=public("api.crt", api.certificate),
            api_key=node.secret("api.key", api.key),
            kubelet_certificate=public("admin.crt", admin.certificate),
            kubelet_key=node.secret("admin.key", admin.key),
            service_public=public("service.pub", service.certificate),
            service_private=node.secret("service.key", service.key),
        )
        self.kubeconfig = self.authority.kubeconfig(admin)
        node.write("etcd/.keep", "")
        node.spawn("etcd", settings.etcd(f"{node.directory}/etcd"))
        node.spawn("kube-apiserver", settings.api_server(address, self._files))

    def start_controllers(self) -> None:
        users = ("kube-controller-manager", "kube-scheduler")
        manager, scheduler = (
            self.node.secret(f"{user}.kubeconfig", self.authority.kubeconfig_of(f"system:{user}"))
            for user in users
        )
        self.node.spawn("kube-controller-manager", settings.controllers(manager, self._files))
        self.node.spawn("kube-scheduler", settings.scheduler(scheduler))

    def apply(self, definitions: Path) -> None:
        """Make the kinds of objects that a file defines."""
        path = self.node.secret("admin.kubeconfig", self.kubeconfig)
        apply = ["/usr/bin/kubectl", f"--kubeconfig={path}", "apply", "--server-side", "-f"]
        self.node.run([*apply, str(definitions)], timeout_s=APPLY_S)

    def api(self) -> Api:
        return Api.within(self.kubeconfig, self.enter)

    def enter(self) -> None:
        """Move the calling thread into the node's own network."""
        with self.node.at.netns_path.open("rb") as namespace:
            syscalls.enter_network(namespace.fileno())

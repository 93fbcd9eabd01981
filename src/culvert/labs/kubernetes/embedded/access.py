"""Access to an embedded cluster: certificates, and kubeconfigs in files of its nodes."""

from __future__ import annotations

from culvert.labs.kubernetes.embedded.node import ClusterNode
from culvert.labs.kubernetes.embedded.pki import ClusterAuthority, Credential, kubeconfig


class Access:
    """``server`` is the URL of the API server, as the nodes reach it."""

    def __init__(self, server: str) -> None:
        self.authority = ClusterAuthority()
        self._server = server

    def kubeconfig(self, credential: Credential) -> str:
        """A user's; it is a secret."""
        return kubeconfig(self._server, self.authority.certificate, credential)

    def kubeconfig_on(self, node: ClusterNode, name: str, credential: Credential) -> str:
        """The path of the same in a file."""
        return secret_file(node, f"{name}.kubeconfig", self.kubeconfig(credential).encode())

    def user_on(self, node: ClusterNode, user: str) -> str:
        """The path of the kubeconfig of a user of Kubernetes' own, such as ``system:kube-proxy``,
        whose rights it knows by the name."""
        name = user.removeprefix("system:")
        return self.kubeconfig_on(node, name, self.authority.issue(user))


def secret_file(node: ClusterNode, name: str, content: bytes) -> str:
    """The path of a new file of mode 0600."""
    return str(node.write(f"pki/{name}", content, secret=True))


def public_file(node: ClusterNode, name: str, content: bytes) -> str:
    """The path of a new file that all may read."""
    return str(node.write(f"pki/{name}", content))

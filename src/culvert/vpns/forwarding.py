"""A node's kernel forwards packets between the tunnels of one device, as a hub does."""

from __future__ import annotations

from culvert.labs.node import Node

_FORWARD = "net.ipv4.ip_forward"


class Forwarding:
    """Settings of at most one node, with their values before."""

    def __init__(self) -> None:
        self._node: Node | None = None
        self._before: dict[str, str] = {}

    def enable(self, node: Node, device: str) -> None:
        """Forward, and send no redirects: the next hop is on the same device, but not reachable for
        the sender."""
        self.restore()
        redirects = [f"net.ipv4.conf.{name}.send_redirects" for name in ("all", device)]
        general = (_FORWARD, redirects[0])
        self._node = node
        self._before = {name: node.text(f"/proc/sys/{name.replace('.', '/')}") for name in general}
        _set(node, {_FORWARD: "1", **dict.fromkeys(redirects, "0")})

    def restore(self) -> None:
        """Restore the values; a device's own settings end with the device. Idempotent."""
        if self._node is not None:
            _set(self._node, self._before)
            self._node = None


def _set(node: Node, values: dict[str, str]) -> None:
    sysctl = node.require("sysctl", "install procps")
    node.run([sysctl, "-q", "-w", *(f"{name}={value}" for name, value in values.items())])

"""A node's kernel forwards packets between the tunnels of one device, as a hub does."""

from __future__ import annotations

from culvert.labs.node import Node

_CONF = "net/ipv4/conf"
_REDIRECTS = f"{_CONF}/all/send_redirects"


class Forwarding:
    """Settings of at most one node, with the value before."""

    def __init__(self) -> None:
        self._node: Node | None = None
        self._redirects = ""

    def enable(self, node: Node, device: str) -> None:
        """Forward what comes in by the device, and send no redirects: the next hop is on the same
        device, but not reachable for the sender.

        The device's settings end with it. The general net/ipv4/ip_forward stays as it is: it would
        make the node a router between all its devices, and change the forwarding of each and
        accept_redirects too. Redirects are sent if the device's setting or that of all permits it
        (ip-sysctl in the kernel's documentation).
        """
        self.restore()
        self._redirects = node.sysctl(_REDIRECTS)
        self._node = node
        node.set_sysctl(f"{_CONF}/{device}/forwarding", "1")
        node.set_sysctl(f"{_CONF}/{device}/send_redirects", "0")
        node.set_sysctl(_REDIRECTS, "0")

    def restore(self) -> None:
        """Restore the value. Idempotent."""
        if self._node is not None:
            self._node.set_sysctl(_REDIRECTS, self._redirects)
            self._node = None

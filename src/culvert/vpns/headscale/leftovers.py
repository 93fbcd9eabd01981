"""What a killed tailscaled leaves in the kernel: its rules and its routing table.

Source: wgengine/router/osrouter/router_linux.go of tailscale.com. The device ends with the process.
"""

from __future__ import annotations

from culvert.labs.node import Node

_RULES = (5210, 5230, 5250, 5270)
"""Priorities."""
_TABLE = 52


def sweep(node: Node) -> None:
    """Remove them, of IPv4 and IPv6; no error for what is not there."""
    ip = node.require("ip", "install iproute2")
    lines = [*(f"rule delete priority {rule}" for rule in _RULES), f"route flush table {_TABLE}"]
    for family in ("-4", "-6"):
        node.run([ip, family, "-force", "-batch", "-"], stdin="\n".join(lines), check=False)

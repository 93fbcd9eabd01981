"""Servers that listen at a TCP port, and may have a process of its own for each login."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.base import Vpn
from culvert.vpns.facts import listens

_FIRST = 'trap exit TERM; "$@" & wait $!'
_TOGETHER = ("unshare", "--pid", "--fork", "--kill-child", "sh", "-c", _FIRST, "sh")
"""Processes of groups and sessions of their own end with the shell, the first of their PID
namespace, which stays in the group that is ended and waited for."""


def start_together(vpn: Vpn, node: Node, argv: Sequence[str], name: str, port: int) -> None:
    """Start a server with all processes that it will have; returns when it listens."""
    process = vpn.start_process(node, [*_TOGETHER, *argv], name)
    await_listening(vpn, node, process, port)


def await_listening(vpn: Vpn, node: Node, process: Process, port: int) -> None:
    """Return when a program listens at a TCP port; raises VpnError."""
    what = f"node {node.name} listened at TCP port {port}"
    vpn.await_fact(lambda: listens(node, process.pid, port), process, what)

"""The contract test's observations on a node: what a VPN left there, pings through its tunnel."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING

from culvert.labs.node import Node
from culvert.probe.client import Probe
from culvert.probe.results import EchoOnce, parse

if TYPE_CHECKING:
    from culvert.labs.netns.node import NetnsNode

PINGS = 3
_HEADERS = 28
"""Of IPv4 and ICMP."""
_ANSWER_MS = 2000
_SLACK_S = 5.0
_LIST_S = 10.0


@dataclass(frozen=True)
class NodeState:
    """Network objects of a node as texts, and its processes (pid, command line)."""

    objects: frozenset[str]
    processes: dict[int, str]

    def left_since(self, before: NodeState) -> list[str]:
        """Objects that appeared or disappeared."""
        changed = [f"left: {found}" for found in sorted(self.objects - before.objects)]
        changed += [f"removed: {found}" for found in sorted(before.objects - self.objects)]
        new = self.processes.keys() - before.processes.keys()
        return changed + [f"left: process {pid} ({self.processes[pid]})" for pid in sorted(new)]


def node_state(node: Node) -> NodeState:
    """What a VPN could leave on a node, now; its processes are those in its network namespace."""
    # Drivers import this module: the lab only when one is open.
    from culvert.labs.namespace import interfaces  # noqa: PLC0415
    from culvert.labs.netns.node import NetnsNode  # noqa: PLC0415

    assert isinstance(node, NetnsNode)
    objects = {*interfaces.objects(node.namespace), *_firewall(node), *_ipsec(node)}
    return NodeState(frozenset(objects), processes_in(node.netns_path.stat().st_ino))


def processes_in(namespace: int) -> dict[int, str]:
    """Command lines of the processes in a network namespace, by its inode."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns/net").stat().st_ino == namespace:
                found[int(process.name)] = command_line(process)
        except OSError:  # the process has ended
            continue
    return found


def command_line(process: Path) -> str:
    """The arguments of /proc/PID, separated by spaces."""
    return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()


def pings_answered(node: Node, address: IPv4Address, *, length: int = 64, count: int = 1) -> int:
    """Number of pings that came back; ``length`` is that of the whole inner IP packet in bytes."""
    with Probe(node) as probe:
        return pings_of(probe, address, length=length, count=count)


def pings_of(probe: Probe, address: IPv4Address, *, length: int = 64, count: int = 1) -> int:
    """``pings_answered`` of a probe that goes on."""
    return sum(_ping(probe, address, length) for _ in range(count))


def _ping(probe: Probe, address: IPv4Address, length: int) -> bool:
    answer = probe.call(
        "echo_once",
        _ANSWER_MS / 1000 + _SLACK_S,
        to=str(address),
        token=secrets.token_hex(16),  # a late answer is none to the next request
        payload_size=length - _HEADERS,
        df=True,
        timeout_ms=_ANSWER_MS,
        attempts=1,
    )
    return parse(EchoOnce, answer).answered


def _firewall(node: NetnsNode) -> Iterator[str]:
    """Tables of nftables; empty without nft."""
    if (nft := node.find("nft")) is not None:
        yield from (f"nft {line}" for line in _printed(node, nft, "list", "tables"))


def _ipsec(node: NetnsNode) -> Iterator[str]:
    """Numbers of associations and policies, if there are any; empty without ip or IPsec."""
    if (ip := node.find("ip")) is not None:
        for what in ("state", "policy"):
            counts = _printed(node, ip, "-s", "xfrm", what, "count")
            yield from (f"xfrm {line.strip()}" for line in counts if re.search("[1-9]", line))


def _printed(node: NetnsNode, *argv: str) -> list[str]:
    # Not by run(), which the story tells as the driver's.
    listed = node.programs.run(argv, timeout_s=_LIST_S, env=None, stdin=None)
    return listed.stdout.splitlines()

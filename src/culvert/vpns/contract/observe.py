"""What the contract test sees on a node, through its agent there."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Any

from culvert.labs.base import Node
from culvert.vpns.base import OuterPacket

_AGENT = (sys.executable, "-P", str(Path(__file__).with_name("agent.py")))
PINGS = 3


def pings_answered(node: Node, address: IPv4Address, *, length: int = 64, count: int = 1) -> int:
    """How many pings came back; ``length`` is that of the whole inner IP packet in bytes."""
    argv = (*_AGENT, "ping", str(address), str(length), str(count))
    return int(json.loads(node.run(argv, timeout_s=30).stdout))


@dataclass(frozen=True)
class NodeState:
    """Network objects of a node in words, and its processes (pid, command line)."""

    objects: frozenset[str]
    processes: dict[int, str]

    def left_since(self, before: NodeState) -> list[str]:
        """What is there now and was not before, or the other way around."""
        changed = [f"left: {found}" for found in sorted(self.objects - before.objects)]
        changed += [f"removed: {found}" for found in sorted(before.objects - self.objects)]
        new = self.processes.keys() - before.processes.keys()
        return changed + [f"left: process {pid} ({self.processes[pid]})" for pid in sorted(new)]


def node_state(node: Node) -> NodeState:
    """Look at a node; its processes are those of its network namespace."""
    told = json.loads(node.run((*_AGENT, "state"), timeout_s=30).stdout)
    return NodeState(frozenset(told["objects"]), _processes_in(told["namespace"]))


def _processes_in(namespace: int) -> dict[int, str]:
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns/net").stat().st_ino == namespace:
                found[int(process.name)] = command_line(process)
        except OSError:  # it ended meanwhile
            continue
    return found


def command_line(process: Path) -> str:
    """The arguments of /proc/PID, with spaces between."""
    return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()


class Capture:
    """IPv4 packets on a node's underlay, in the order seen."""

    def __init__(self, node: Node) -> None:
        argv = (*_AGENT, "capture", node.underlay.device)
        self._process = node.spawn(argv, name="contract-capture", pipes=True)
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the capture did not start: {self._process.log_text()}")

    def packets(self) -> list[OuterPacket]:
        """Those seen since the last call."""
        self._process.stdin.write(b"mark\n")
        self._process.stdin.flush()
        packets = []
        while (line := self._process.stdout.readline()) != b"mark\n":
            if not line:
                raise RuntimeError(f"the capture ended: {self._process.log_text()}")
            packets.append(_packet(json.loads(line)))
        return packets

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.stop()


def _packet(told: dict[str, Any]) -> OuterPacket:
    return OuterPacket(**{**told, "payload": bytes.fromhex(told["payload"])})

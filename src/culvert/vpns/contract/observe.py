"""The contract test's observations on a node, through its agent there."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from culvert.labs.node import Node
from culvert.vpns.outer import OuterPacket

_AGENT = (sys.executable, "-P", str(Path(__file__).with_name("agent.py")))
PINGS = 3


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


class _Helper:
    """A process of the agent; a context manager that ends it."""

    def __init__(self, node: Node, *arguments: str) -> None:
        self._process = node.spawn(
            (*_AGENT, *arguments), name=f"contract-{arguments[0]}", pipes=True
        )
        if self._line() != b"ready\n":
            raise RuntimeError(f"the agent did not start: {self._process.log_text()}")

    def _say(self, words: str) -> None:
        self._process.stdin.write(f"{words}\n".encode())
        self._process.stdin.flush()

    def _line(self) -> bytes:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the agent ended: {self._process.log_text()}")
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.stop()


class Agent(_Helper):
    """Answers questions about a node."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, "serve")
        self.pid = self._process.pid

    def pings_answered(self, address: IPv4Address, *, length: int = 64, count: int = 1) -> int:
        """Number of pings that came back; ``length`` is that of the whole inner IP packet in
        bytes."""
        self._say(f"ping {address} {length} {count}")
        return int(json.loads(self._line()))

    def state(self) -> NodeState:
        """The node's state now; its processes are those in its network namespace."""
        self._say("state")
        answer = json.loads(self._line())
        return NodeState(frozenset(answer["objects"]), processes_in(answer["namespace"]))


class Capture(_Helper):
    """IPv4 packets on a node's underlay, in the order seen."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, "capture", node.underlay.device)

    def packets(self) -> list[OuterPacket]:
        """Packets since the last call."""
        self._say("mark")
        packets = []
        while (line := self._line()) != b"mark\n":
            packets.append(_packet(json.loads(line)))
        return packets


def node_state(node: Node) -> NodeState:
    """``Agent.state``, once, without the agent's own process."""
    with Agent(node) as agent:
        state = agent.state()
    processes = {pid: line for pid, line in state.processes.items() if pid != agent.pid}
    return NodeState(state.objects, processes)


def pings_answered(node: Node, address: IPv4Address, *, length: int = 64, count: int = 1) -> int:
    """``Agent.pings_answered``, once."""
    with Agent(node) as agent:
        return agent.pings_answered(address, length=length, count=count)


def _packet(fields: dict[str, Any]) -> OuterPacket:
    return OuterPacket(**{**fields, "payload": bytes.fromhex(fields["payload"])})

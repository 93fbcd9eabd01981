"""The contract test's observations: what a VPN left on a node, pings through its tunnel, and the
packets between the nodes, at node a's end of the link."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from culvert.errors import ProbeError
from culvert.labs.node import Node
from culvert.probe.client import Probe
from culvert.probe.results import Captured, EchoOnce, parse
from culvert.topology.ip import Address, IpVersion
from culvert.vpns.outer import OuterPacket, outer_packet

if TYPE_CHECKING:
    from culvert.labs.netns.node import NetnsNode

PINGS = 3
_ICMP_HEADER = 8
_PROBE_HEADER = 28
_ANSWER_MS = 2000
SILENT_MS = 500
"""A tunnel that should be down is tried this long: an answer through one that is up, on the link of
a lab, takes some milliseconds."""
_SLACK_S = 5.0
_LIST_S = 10.0
_KEPT_PAYLOAD_BYTES = 64
_MOST_PACKETS = 100_000
_CAPTURED_S = 30.0


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


def pings_answered(node: Node, address: Address, *, length: int = 64, count: int = 1) -> int:
    """Number of pings that came back; ``length`` is that of the whole inner IP packet in bytes."""
    with Probe(node) as probe:
        return pings_of(probe, address, length=length, count=count)


def pings_of(
    probe: Probe,
    address: Address,
    *,
    length: int = 64,
    count: int = 1,
    within_ms: int = _ANSWER_MS,
    reflector: Probe | None = None,
) -> int:
    """``pings_answered`` of a probe that goes on; of ``smallest_ping()`` if ``length`` is less.

    ``reflector`` is the probe on the node of the address, which answers over UDP, for a VPN that
    carries no pings; None: its kernel answers, over ICMP.
    """
    return sum(_ping(probe, address, length, within_ms, reflector) for _ in range(count))


def silent(probe: Probe, address: Address, *, reflector: Probe | None = None) -> bool:
    """Whether a ping through a tunnel that should be down is not answered."""
    return pings_of(probe, address, within_ms=SILENT_MS, reflector=reflector) == 0


def smallest_ping(address: Address) -> int:
    """Bytes of the shortest packet that has the probe's header."""
    return _headers(address) + _PROBE_HEADER


def _headers(address: Address) -> int:
    return IpVersion(address.version).header_bytes + _ICMP_HEADER


def _ping(
    probe: Probe, address: Address, length: int, within_ms: int, reflector: Probe | None
) -> bool:
    to, token = str(address), secrets.token_hex(16)  # a late answer is none to the next request
    idle_s = within_ms / 1000 + _SLACK_S
    echo = (
        None if reflector is None else reflector.begin("echo", bind=to, token=token, idle_s=idle_s)
    )
    try:
        answer = probe.call(
            "echo_once",
            idle_s,
            to=to,
            port=None if echo is None else echo.port(),
            token=token,
            payload_size=max(length, smallest_ping(address)) - _headers(address),
            df=True,
            timeout_ms=within_ms,
            attempts=1,
        )
        return parse(EchoOnce, answer).answered
    except ProbeError:
        if echo is None or probe.broken() is not None:
            raise
        return False  # UDP has no route to the address
    finally:
        if echo is not None:
            echo.stop()


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
    return node.execute(argv, None, None, _LIST_S).stdout.splitlines()


class UnderlayLook:
    """Captures packets of the underlay at a node's device."""

    def __init__(self, node: Node, probe: Probe) -> None:
        self._node = node
        self._probe = probe
        self._begin()

    def packets(self) -> list[OuterPacket]:
        """Packets since the last call, in order. Those between the end of one capture and the start
        of the next are in neither."""
        captured = parse(Captured, self._running.stop(_CAPTURED_S))
        self._begin()
        return [outer_packet(packet) for packet in captured.recorded]

    def _begin(self) -> None:
        """From now on all packets are captured."""
        self._running = self._probe.begin(
            "capture",
            device=self._node.underlay.device,
            canaries=[],
            record=_MOST_PACKETS,
            snaplen_record=_KEPT_PAYLOAD_BYTES,
        )
        self._running.ready()


@contextmanager
def captured_on(node: Node) -> Iterator[UnderlayLook]:
    """A capture on a node."""
    with Probe(node) as probe:
        yield UnderlayLook(node, probe)

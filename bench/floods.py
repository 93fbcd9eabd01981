"""Floods of 64-byte packets (36 bytes of UDP payload), by the probe and by its peers.

Each contestant sends on the same link, with segmentation offloads off: what it sends are packets on
the wire. CPU time is that of the sending (or receiving) process from its start to its end.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.bare import bare_session
from bench.cpu import cpu_s
from culvert.errors import LabError
from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.measurements.streams.udp_stream import UdpRun, UdpStream
from culvert.probe.client import Probe
from culvert.probe.results import Accounted, UdpSource, parse
from culvert.waiting import wait_until

SECONDS = 2
SIZE = 64
PAYLOAD_BYTES = SIZE - UDP_HEADERS
DEADLINE_S = 30.0
QUIET_MS = 50
DISCARD_PORT = 9


@dataclass(frozen=True)
class Flood:
    """Packets and CPU seconds at either end; None where a contestant does not tell."""

    sent: int
    sender_s: float
    received: int | None = None
    receiver_s: float | None = None
    socket_drops: int | None = None

    @property
    def sent_per_cpu_s(self) -> float:
        """Packets per CPU-second of the sender."""
        return self.sent / max(self.sender_s, 1e-9)

    @property
    def received_per_cpu_s(self) -> float:
        """Packets per CPU-second of the receiver."""
        return (self.received or 0) / max(self.receiver_s or 0.0, 1e-9)


def probe_flood(lab: Lab, *, rate_pps: float | None = None, seconds: int = SECONDS) -> Flood:
    """The probe's, from its source to its sink."""
    with bare_session(lab) as session:
        stream = UdpStream(session.inner(lab.b), (SIZE,), seconds, rate_pps=rate_pps)
        run = UdpRun(session, stream, QUIET_MS)
        before = cpu_s(session.a.process.pid), cpu_s(session.b.process.pid)
        run.start()
        sent = run.sent()
        sender_s = cpu_s(session.a.process.pid) - before[0]
        sunk = run.finish().sunk
        receiver_s = cpu_s(session.b.process.pid) - before[1]
    return Flood(sent.packets, sender_s, sunk.packets, receiver_s, sunk.socket_drops)


def probe_source(lab: Lab, *, segmentation: str = "auto") -> Flood:
    """The probe's source alone. What was sent is what the link counted."""
    with Probe(lab.a) as a:
        device = lab.a.underlay.device
        accounting = a.begin("accounting", pids=[], kernel_threads=[], devices=[device])
        accounting.ready()
        before = cpu_s(a.process.pid)
        source = a.begin(
            "udp_source",
            to=_address(lab),
            port=DISCARD_PORT,
            token=secrets.token_hex(16),
            payload_size=PAYLOAD_BYTES,
            duration_s=SECONDS,
            segmentation=segmentation,
        )
        sent = parse(UdpSource, source.result(DEADLINE_S))
        sender_s = cpu_s(a.process.pid) - before
        counted = parse(Accounted, accounting.stop()).device(device)
    return Flood(min(sent.packets, counted.tx_packets if counted else 0), sender_s)


def iperf3_flood(lab: Lab, *, rate_pps: float | None = None, seconds: int = SECONDS) -> Flood:
    """iperf3's own counts."""
    to = _address(lab)
    target = "0" if rate_pps is None else str(round(rate_pps * PAYLOAD_BYTES * 8))
    serve = ["iperf3", "--server", "--one-off", "--bind", to, "--forceflush"]
    with _server(lab.b, serve, "listening") as server:
        client = _client(
            lab.a,
            [
                *("iperf3", "--client", to, "--udp", "--length", str(PAYLOAD_BYTES)),
                *("--bitrate", target, "--time", str(seconds), "--json"),
            ],
        )
        wait_until(lambda: not server.alive(), what="iperf3's server ended", deadline_s=DEADLINE_S)
        receiver_s = cpu_s(server.pid)
    end = json.loads(client.output)["end"]
    received = end["sum_received"]
    return Flood(
        end["sum_sent"]["packets"],
        client.cpu_s,
        received["packets"] - received["lost_packets"],
        receiver_s,
        received["lost_packets"],
    )


def iperf2_flood(lab: Lab, *, seconds: int = SECONDS) -> Flood:
    """iperf2's own counts. Its server's may not come: the client requests it ten times."""
    to = _address(lab)
    with _server(lab.b, ["iperf", "--server", "--udp", "--bind", to], "listening"):
        client = _client(
            lab.a,
            [
                *("iperf", "--client", to, "--udp", "--len", str(PAYLOAD_BYTES)),
                *("--bandwidth", "100g", "--time", str(seconds)),
            ],
        )
    reported = re.search(r"(\d+)/\s*(\d+) \(", client.output)
    return Flood(
        _found(r"Sent (\d+) datagrams", client.output),
        client.cpu_s,
        reported and int(reported[2]) - int(reported[1]),
    )


def nuttcp_flood(lab: Lab, *, seconds: int = SECONDS) -> Flood:
    """nuttcp's own counts."""
    with _server(lab.b, ["nuttcp", "-1", "--nofork"], None):
        client = _client(
            lab.a,
            [
                *("nuttcp", "-u", f"-l{PAYLOAD_BYTES}", f"-T{seconds}", "-Ru", "-fparse"),
                _address(lab),
            ],
        )
    sent, dropped = (_found(rf"{word}=(\d+)", client.output) for word in ("pkt", "drop"))
    return Flood(sent, client.cpu_s, sent - dropped)


def sockperf_flood(lab: Lab) -> Flood:
    """sockperf's own count; it sends for a while before it counts, and does not report it."""
    to = _address(lab)
    with _server(lab.b, ["sockperf", "server", "-i", to], "listen"):
        client = _client(
            lab.a,
            [
                *("sockperf", "throughput", "-i", to, "-m", str(PAYLOAD_BYTES)),
                *("-t", str(SECONDS)),
            ],
        )
    return Flood(_found(r"Total of (\d+) messages sent", client.output), client.cpu_s)


PEERS: dict[str, Callable[[Lab], Flood]] = {
    "iperf3": iperf3_flood,
    "iperf2": iperf2_flood,
    "nuttcp": nuttcp_flood,
    "sockperf": sockperf_flood,
}
PACKAGES = {
    "iperf3": ("iperf3", "iperf3"),
    "iperf2": ("iperf", "iperf"),
    "nuttcp": ("nuttcp", "nuttcp"),
    "sockperf": ("sockperf", "sockperf"),
}
"""The program of each, and the Debian package that has it."""


@dataclass(frozen=True)
class Ended:
    """A client that has ended: what it printed, and its CPU seconds."""

    output: str
    cpu_s: float


def _client(node: Node, argv: Sequence[str]) -> Ended:
    process = node.spawn(argv, name=f"bench-{argv[0]}")
    try:
        wait_until(lambda: not process.alive(), what=f"{argv[0]} ended", deadline_s=DEADLINE_S)
        spent_s = cpu_s(process.pid)
        if process.returncode():
            last = process.log_text().strip().splitlines()[-1:]
            raise LabError(argv[0], f"it failed: {' '.join(last)}", "run it by hand")
        return Ended(process.log_text(), spent_s)
    finally:
        process.stop()


@contextmanager
def _server(node: Node, argv: Sequence[str], says: str | None) -> Iterator[Process]:
    """A peer's server; it is ready when it ``says`` so, or else when it has a socket."""
    process = node.spawn(argv, name=f"bench-{argv[0]}-server")

    def ready() -> bool:
        if says is not None:
            return says in process.log_text().lower()
        return "LISTEN" in node.run(["ss", "-H", "-l", "-t"]).stdout

    try:
        wait_until(ready, what=f"{argv[0]}'s server", deadline_s=5)
        yield process
    finally:
        process.stop()


def _found(pattern: str, output: str) -> int:
    found = re.search(pattern, output)
    if found is None:
        raise LabError("a peer's output", f"has no '{pattern}'", "its version may be another")
    return int(found[1])


def _address(lab: Lab) -> str:
    return str(lab.b.underlay.address.ip)

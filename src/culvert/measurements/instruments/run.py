"""Runs an instrument on the nodes, under the same watch and proof as the probe.

::

    captures, accounting ── receiver listens ── sender runs to its end ── canary ── accounting ends

An instrument's packets carry no canary. Without a VPN, marked packets of the probe follow them, to
show that the capture sees clear text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePath

from culvert.errors import NotPossible
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.measurements.base import SAMPLE_ONE_IN
from culvert.measurements.instruments import iperf2, iperf3, nuttcp, ping
from culvert.measurements.instruments.base import (
    Instrument,
    InstrumentError,
    Load,
    ToolReport,
    program,
)
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.measurements.streams.tcp_load import controlled
from culvert.trial.check import Check, Crossing
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import Flow, InnerTraffic, unseen_echo_traffic
from culvert.trial.watch import Watched
from culvert.vpns.facts import listens
from culvert.vpns.variant import Carried
from culvert.waiting import wait_until

GRACE_S = 20
READY_S = 5.0
MARKED_PACKETS = 1500
MARKED_RATE_PPS = 20_000
MARKED_PAYLOAD = 64
NOTHING = Flow(0, 0)
CONTROL = Flow(60, 24_000)
"""Upper bound of a control connection: parameters, results (JSON for iperf3), acknowledgements."""
CARRIED = 0.98
"""Least share of the bytes an instrument reports that the devices must have counted."""


@dataclass(frozen=True)
class _Way:
    """Who sends and who receives."""

    sender: Node
    receiver: Node


def measure_throughput(
    session: Session, instrument: Instrument, load: Load, *, up: bool = True
) -> tuple[ToolReport, Outcome]:
    """Its report, and the outcome without the measurement's own metrics."""
    nodes = session.source, session.target
    way = _Way(*(nodes if up else nodes[::-1]))
    _refuse_other_congestion(instrument, load, way.sender)
    with session.watch(sample_one_in=SAMPLE_ONE_IN) as watched:
        report = _transfer(instrument, load, way)
        if session.vpn.outer_flow is None:
            _send_marked(session)
    doubts = [_arrived(report), *_crossed(session, watched, way, report, instrument)]
    if load.congestion_control and report.congestion_control:
        doubts.append(controlled({report.congestion_control}, load.congestion_control))
    traffic = _udp_traffic(report, load, up=up) if session.vpn.outer_flow is not None else None
    return report, Outcome(
        metrics=[],
        watched=[watched],
        traffic=traffic,
        goodput_bytes=round(report.received_bytes),
        doubts=doubts,
    )


def measure_ping(
    session: Session, *, probes: int, rate_pps: float, packet_size: int, timeout_ms: int
) -> tuple[ToolReport, Outcome]:
    """Echo requests from node a to node b, by ping."""
    a, to = session.source, session.inner(session.target)
    words = ping.command(
        to,
        probes=probes,
        rate_pps=rate_pps,
        packet_size=packet_size,
        timeout_ms=timeout_ms,
        pattern=session.canary,
    )
    deadline_s = 2 * probes / rate_pps + timeout_ms / 1000 + GRACE_S
    with session.watch(sample_one_in=1) as watched:
        printed = _run(a, [program(a, Instrument.PING), *words], deadline_s)
    report = ping.parse(printed)
    sent = report.sent_packets or 0
    answered = sent - (report.lost_packets or 0)
    return report, Outcome(
        metrics=list(report.metrics),
        watched=[watched],
        traffic=unseen_echo_traffic(sent, answered, packet_size),
        histograms=list(report.histograms),
    )


def _transfer(instrument: Instrument, load: Load, way: _Way) -> ToolReport:
    sends, receives = (program(node, instrument) for node in (way.sender, way.receiver))
    deadline_s = load.duration_s + GRACE_S
    match instrument:
        case Instrument.IPERF2:
            serve, protocol = [receives, *iperf2.server(load)], "udp" if load.udp else "tcp"
            with _listening(way.receiver, serve, iperf2.PORT, protocol) as server:
                _run(way.sender, [sends, *iperf2.client(load)], deadline_s)
                wait_until(
                    lambda: iperf2.finished(load, server.log_text()),
                    what="iperf's server reported what it received",
                    deadline_s=READY_S,
                    remedy="run it by hand in a tunnel that 'culvert up' keeps",
                )
                return iperf2.parse(load, server.log_text())
        case Instrument.IPERF3:
            with _listening(way.receiver, [receives, *iperf3.server(load)], iperf3.PORT):
                printed = _run(way.sender, [sends, *iperf3.client(load)], deadline_s, check=False)
            return iperf3.parse(load, printed)
        case Instrument.NUTTCP:
            with _listening(way.receiver, [receives, *nuttcp.server(load)], nuttcp.PORT):
                printed = _run(way.sender, [sends, *nuttcp.client(load)], deadline_s)
            return nuttcp.parse(load, printed)
        case _:
            raise InstrumentError(instrument, "measures no goodput", "use iperf3")


@contextmanager
def _listening(
    node: Node, argv: Sequence[str], port: int, protocol: str = "tcp"
) -> Iterator[Process]:
    """The receiving end, from when it listens; it is ended at exit."""
    process = node.spawn(argv, name=f"instrument-{PurePath(argv[0]).name}")

    def ready() -> bool:
        if not process.alive():
            last = process.last_line() or "nothing"
            raise InstrumentError(argv[0], f"it ended; it printed: {last}", "run it by hand")
        with suppress(OSError):  # it has just ended
            return listens(node, process.pid, port, protocol)
        return False

    try:
        wait_until(ready, what=f"{argv[0]} listened on port {port}", deadline_s=READY_S)
        yield process
    finally:
        process.stop()


def _run(node: Node, argv: Sequence[str], deadline_s: float, *, check: bool = True) -> str:
    return node.run(argv, timeout_s=deadline_s, check=check).stdout


def _send_marked(session: Session) -> None:
    with Echo(session, GRACE_S) as echo:
        echo.rtt(
            rate_pps=MARKED_RATE_PPS,
            count=MARKED_PACKETS,
            payload_size=MARKED_PAYLOAD,
            timeout_ms=session.patience_ms(500),
        )


def _udp_traffic(report: ToolReport, load: Load, *, up: bool) -> InnerTraffic | None:
    """Datagrams, as the instrument counts them; None for TCP, whose segments it does not count."""
    if not load.udp or report.sent_packets is None:
        return None
    size = load.size + UDP_HEADERS
    received = report.sent_packets - (report.lost_packets or 0)
    # An upper bound: the control connection's packets come on top of the datagrams.
    packets = report.sent_packets + CONTROL.packets
    sent = Flow(packets, report.sent_packets * size + CONTROL.ip_bytes)
    got = Flow(received, received * size, size)
    if up:
        return InnerTraffic(sent, got, CONTROL, NOTHING)
    return InnerTraffic(CONTROL, NOTHING, sent, got)


def _arrived(report: ToolReport) -> Check:
    return Crossing(
        "data arrived",
        report.received_bytes > 0,
        f"the instrument's receiver reports {report.received_bytes:,.0f} bytes",
        "nothing came through the tunnel: try 'culvert up'",
    )


def _crossed(
    session: Session, watched: Watched, way: _Way, report: ToolReport, instrument: Instrument
) -> list[Check]:
    """The reported bytes must have come out of the tunnel, or gone into a proxy, and been sent on
    the link."""
    into = session.vpn.carries is Carried.PAYLOAD
    node = way.sender if into else way.receiver
    interface = session.vpn.interface(node)
    used = watched.nodes[node.name].accounted.counts(interface)
    left = watched.nodes[way.sender.name].accounted.counts(way.sender.underlay.device)
    inner, outer = used.tx_bytes if into else used.rx_bytes, left.tx_bytes
    least = CARRIED * report.received_bytes
    return [
        Check(
            "the instrument's bytes crossed the tunnel",
            inner >= least and outer >= least,
            f"{instrument} reports {report.received_bytes:,.0f} bytes; {inner:,} "
            f"{'went into' if into else 'came out of'} {interface}, and {outer:,} were sent on the "
            "link",
            "its traffic did not go through the tunnel: check the routes",
            {"reported_bytes": report.received_bytes, "tunnel_bytes": inner, "link_bytes": outer},
        )
    ]


def _refuse_other_congestion(instrument: Instrument, load: Load, node: Node) -> None:
    """nuttcp cannot set it: it uses the node's default."""
    default = getattr(node, "congestion_control", load.congestion_control)
    if instrument is Instrument.NUTTCP and not load.udp and default != load.congestion_control:
        raise NotPossible(
            f"nuttcp with {load.congestion_control}",
            f"it uses the node's default, which is {default}",
            "allow it by net.ipv4.tcp_allowed_congestion_control, or use iperf3",
        )

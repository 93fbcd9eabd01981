"""``gateway_load``: many clients send through one gateway at the same time.

::

    c1 ─┐                                  every client has a tunnel; a share of them sends
    c2 ─┼─ core ── gateway [── behind]     all packets that arrive at core are searched for clear
    cN ─┘                                  text

One probe drives all clients of a machine. What the same clients reach on the bare links right after
is the generators' ceiling; a figure that they limit is invalid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from culvert.errors import NotPossible
from culvert.measurements.base import SAMPLE_ONE_IN, BaseParameters, Measurement
from culvert.measurements.ceiling import ceiling_truths
from culvert.measurements.gateway import proof
from culvert.measurements.gateway.ceiling import TCP_CEILING_S, near_link
from culvert.measurements.gateway.crowd import (
    Load,
    Seats,
    Talk,
    Transport,
    inside,
)
from culvert.measurements.gateway.crowd_run import CrowdRun
from culvert.measurements.gateway.figures import (
    METRICS,
    figures,
    locate_losses,
    rtt_metrics,
)
from culvert.measurements.gateway.star import CLIENT_S, star_of, together
from culvert.measurements.gateway.use import clients_metrics, sockets
from culvert.measurements.mtu.max_size import find_max_size
from culvert.measurements.parameters import RATE, SIZES, Congestion, Duration
from culvert.measurements.streams.packet import (
    SMALLEST,
    TCP_HEADERS,
    UDP_HEADERS,
    marked_run,
)
from culvert.measurements.streams.udp_stream import quiet_ms
from culvert.measurements.udp.offered_rate import AskedRate
from culvert.measurements.udp.packet_sizes import MAX, Sizes, parse_sizes
from culvert.metrics import MetricSpec
from culvert.probe.results import RttResult, parse
from culvert.proof.known import KnownPath
from culvert.proof.limits import (
    receiver_is_not_the_limit,
)
from culvert.proof.truth import Truth, exactly
from culvert.results import Histogram, Label, Metric
from culvert.study.table import problem
from culvert.topology.graph import Role
from culvert.topology.shapes import GATEWAY, MOST_NODES
from culvert.topology.spec import LabSpec
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import echo_traffic
from culvert.units import DurationS, Fraction, PerSecond

UDP, TCP = ("protocol", "udp"), ("protocol", "tcp")
PROBE_BYTES = 84
TIMEOUT_MS = 1000


class Direction(StrEnum):
    """From where to where the clients' packets go."""

    UP = "up"
    """From each client to the other end."""
    DOWN = "down"
    """From the other end to each client."""
    BETWEEN = "between"
    """From one client to another one, through the gateway."""


class OtherEnd(StrEnum):
    """Where the clients' packets end, or begin."""

    GATEWAY = "gateway"
    """At the gateway itself."""
    BEHIND = "behind"
    """At a host on a network behind it."""


class GatewayLoadParameters(BaseParameters):
    """Parameters of the clients of one gateway."""

    clients: Annotated[int, Field(ge=1, le=MOST_NODES), Label("{} clients", {1: "one client"})] = 8
    """Clients that are connected."""
    active: Annotated[
        Fraction, Field(gt=0, le=1), Label("{} of them active", {1.0: "", "100%": ""})
    ] = 1.0
    """Share of the clients that sends."""
    direction: Annotated[
        Direction,
        Label("{}", {"up": "from the clients", "down": "to the clients", "between": "to others"}),
    ] = Direction.UP
    """To the gateway, from it, or to each other through it."""
    to: Annotated[OtherEnd, Label("{}", {"gateway": "", "behind": "beyond the gateway"})] = (
        OtherEnd.GATEWAY
    )
    """The gateway itself, or a host behind it, to which the gateway forwards."""
    protocol: Annotated[Transport, Label("over {}", {"udp": "over UDP", "tcp": "over TCP"})] = (
        Transport.UDP
    )
    """Protocol of the load."""
    packet_size: Annotated[Sizes, replace(SIZES, where=UDP)] = MAX
    """Bytes of the inner IP packet of UDP, as for `udp`: a size, ``max``, ``imix`` or a pattern."""
    rate: Annotated[AskedRate | None, replace(RATE, where=UDP)] = None
    """Of each client, packets or bits of payload of UDP per second; without it, as fast as
    possible."""
    on_s: Annotated[
        Annotated[DurationS, Field(gt=0)] | None, Label("sending for {}", {None: ""}, "s")
    ] = Field(None, alias="on")
    """Mean of the times in which a client sends, exponentially distributed; with ``off``. The rate
    is the mean over both."""
    off_s: Annotated[
        Annotated[DurationS, Field(gt=0)] | None, Label("silent for {}", {None: ""}, "s")
    ] = Field(None, alias="off")
    """Mean of the times in which it does not."""
    duration_s: Duration = Field(5.0, alias="duration")
    """Measured time."""
    warmup_s: Annotated[DurationS, Label("after {} of warm-up", unit="s", where=TCP)] = Field(
        0.5, alias="warmup"
    )
    """Time before it, of TCP."""
    congestion_control: Annotated[Congestion, Label("congestion control {}", where=TCP)] = "cubic"
    """Congestion control of TCP, by the kernel's name."""
    threads: Annotated[int, Field(ge=1, le=64), Label("{} threads", {1: ""})] = 1
    """Threads that send for the clients, and as many that receive."""
    probe_rate: Annotated[PerSecond, Field(gt=0, le=10_000), Label("{} echo requests")] = 100
    """Echo requests of the first client beside the load."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.on_s is None) != (self.off_s is None):
            raise problem("on and off belong together", "state both, or none")
        if self.on_s is not None and self.rate is None:
            raise problem("times of sending need a rate", "add a rate")
        if self.protocol is Transport.TCP and self.rate is not None:
            raise problem(
                "TCP sends as fast as its congestion control permits", "leave the rate out"
            )
        if self.direction is Direction.BETWEEN and self.clients < 2:
            raise problem("one client has no other to send to", "write clients = 2 or more")
        if self.direction is Direction.BETWEEN and self.to is OtherEnd.BEHIND:
            raise problem("clients send to each other, or to a host", "leave one of both out")
        return self


class GatewayLoad(Measurement[GatewayLoadParameters]):
    """Load from many clients on one gateway."""

    kind: ClassVar[str] = "gateway_load"
    title: ClassVar[str] = "Many clients of one gateway"
    summary: ClassVar[str] = "goodput, fairness, delay and the gateway's CPU under many clients"
    metrics: ClassVar[Sequence[MetricSpec]] = METRICS
    Parameters = GatewayLoadParameters
    saturates: ClassVar[bool] = True
    drives_many: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: GatewayLoadParameters) -> float:
        tcp = parameters.protocol is Transport.TCP
        lasting_s = parameters.duration_s + (parameters.warmup_s if tcp else 0.0)
        return lasting_s + 1.0 + CLIENT_S * parameters.clients

    @classmethod
    def lab(cls, spec: LabSpec, parameters: GatewayLoadParameters) -> LabSpec:
        target = "c2" if parameters.direction is Direction.BETWEEN else GATEWAY
        behind = parameters.to is OtherEnd.BEHIND
        return star_of(cls.kind, spec, parameters.clients, target, behind=behind)

    @classmethod
    def truths(cls, known: KnownPath, parameters: GatewayLoadParameters) -> Sequence[Truth]:
        active = max(round(parameters.active * parameters.clients), 1)
        between = parameters.direction is Direction.BETWEEN
        whole, seconds = together(known, active, past=between), parameters.duration_s
        up = parameters.direction is Direction.UP
        tcp = parameters.protocol is Transport.TCP
        headers = TCP_HEADERS if tcp else UDP_HEADERS
        sizes = [whole.mtu] if tcp else parse_sizes(parameters.packet_size).resolved(whole.mtu)
        rates = ["goodput_bps", "client_goodput_bps"]
        found = [
            exactly("connected_clients", float(parameters.clients), "the request"),
            *whole.payload(rates, sizes, headers, seconds, up),
            *ceiling_truths(whole, sizes, upward=up),
            *whole.payload(["ceiling_goodput_bps"], sizes, headers, TCP_CEILING_S, up),
            *(
                []
                if tcp
                else whole.packets(["received_pps"], sizes, seconds, upward=up, filling=False)
            ),
        ]
        if between or parameters.on_s is not None:
            return found
        queues_ns = [known.queue_ns(upward=way) or 0.0 for way in (True, False)]
        words = "the delay and a transmission, there and back, and what two queues hold"
        found += known.times(
            ["rtt_loaded_p50_us"],
            "us",
            known.round_trip_ns(PROBE_BYTES),
            words,
            longer_ns=2 * sum(queues_ns),
        )
        if not tcp and parameters.rate is not None:
            offered_pps = active * parameters.rate.packets_per_s(sizes)
            if offered_pps <= (whole.packets_per_s(sizes, upward=up) or math.inf):
                return found + whole.loss("loss_ratio", offered_pps * seconds)
        found += whole.goodput("goodput_bps", sizes, headers, seconds, up)
        return found + ([] if tcp else whole.packets(["received_pps"], sizes, seconds, upward=up))

    def run(self, session: Session, parameters: GatewayLoadParameters) -> Outcome:
        """Every client's canary, then the load, then the ceiling."""
        if parameters.direction is Direction.BETWEEN:
            _refuse_beside_the_gateway(session)
        load = _load(session, parameters)
        talks = _talks(session, parameters)
        quiet = quiet_ms(session, session.inner(session.target))
        gateway_sockets = sockets(session)
        with Seats(session) as seats:
            canary = proof.every_canary(session, seats, all_up(session), quiet)
            run = CrowdRun(session, seats, talks, load, inside(session), quiet)
            smallest = min(load.sizes, default=SMALLEST)
            echo = _echo(session, load)
            beside = proof.Beside(session, SAMPLE_ONE_IN, marked_run(smallest))
            with session.watch(
                sample_one_in=SAMPLE_ONE_IN, marked_run=marked_run(smallest)
            ) as watched:
                run.start()
                rtt = _echoes(session, echo, parameters, load)
                trial = run.finish()
                reflected = echo.close().packets
            seen = beside.end()
            ceiling = near_link(session, seats, talks, load, trial, quiet)
        echoes = echo_traffic(rtt.sent, reflected, rtt.received, PROBE_BYTES)
        losses = locate_losses(session, watched, trial)
        found = figures(session, parameters.clients, load, trial, watched)
        return Outcome(
            metrics=[
                *found,
                *rtt_metrics(rtt),
                *losses.metrics(),
                *clients_metrics(session, watched.accounted[session.source.name]),
                Metric("gateway_sockets", "sockets", gateway_sockets),
                *ceiling.metrics(),
            ],
            watched=[watched],
            goodput_bytes=sum(one.sunk.unique_bytes for one in trial.carried),
            series=trial.series,
            histograms=Histogram.all(rtt_loaded_ns=rtt, one_way_ns=trial.one_way),
            doubts=[
                canary,
                *proof.judge(session, trial, watched, seen, echoes),
                *ceiling.checks(session, load, trial, found, losses),
                receiver_is_not_the_limit(session.vpn, trial.unique, losses.socket)
                if load.transport is Transport.UDP
                else proof.connected(trial),
            ],
        )


def _refuse_beside_the_gateway(session: Session) -> None:
    """Clients of a mesh have tunnels to each other."""
    route = session.route
    if session.vpn.outer_flow is not None and (route is None or route.via != GATEWAY):
        why = "packets between its clients do not go through the gateway"
        raise NotPossible(session.vpn.id, why, 'leave direction = "between" out for this VPN')


def _load(session: Session, parameters: GatewayLoadParameters) -> Load:
    tcp = parameters.protocol is Transport.TCP
    requested = parse_sizes(parameters.packet_size)
    sizes = requested.resolved(find_max_size(session) if requested.needs_max and not tcp else None)
    rate = parameters.rate
    periods = {"on_s": parameters.on_s, "off_s": parameters.off_s}
    return Load(
        parameters.protocol,
        parameters.duration_s,
        () if tcp else sizes,
        rate.packets_per_s(sizes) if rate else None,
        periods if parameters.on_s is not None else None,
        parameters.warmup_s if tcp else 0.0,
        parameters.congestion_control,
        parameters.threads,
    )


def all_up(session: Session) -> list[Talk]:
    """From each client to the host behind the gateway, or to the gateway if there is none."""
    *_, end = session.lab.of_role(Role.GATEWAY, Role.BEHIND)
    return [Talk(node.name, node, end) for node in session.lab.of_role(Role.CLIENT)]


def _talks(session: Session, parameters: GatewayLoadParameters) -> list[Talk]:
    """Those of the active clients, which are spread over all of them; the first is one."""
    up = all_up(session)
    between = parameters.direction is Direction.BETWEEN
    if between:
        up = [
            Talk(one.client, one.source, other.source)
            for one, other in zip(up[::2], up[1::2], strict=False)
        ]
    active = spread(up, max(round(parameters.active * len(up)), 1))
    if parameters.direction is Direction.DOWN:
        return [Talk(one.client, one.target, one.source) for one in active]
    return active


def spread(talks: Sequence[Talk], count: int) -> list[Talk]:
    """So many of them, from all over; the first is one."""
    return [talks[index * len(talks) // count] for index in range(count)]


def _echo(session: Session, load: Load) -> Echo:
    """It reflects at the load's other end: a host behind the gateway, if there is one."""
    idle_s = load.lasting_s + 60
    for host in session.lab.of_role(Role.BEHIND):
        return Echo(session, idle_s, inside(session)(host), at=session.others[host.name])
    return Echo(session, idle_s)


def _echoes(
    session: Session, echo: Echo, parameters: GatewayLoadParameters, load: Load
) -> RttResult:
    task = echo.begin_rtt(
        rate_pps=parameters.probe_rate,
        count=max(round(parameters.probe_rate * load.lasting_s), 1),
        payload_size=PROBE_BYTES - UDP_HEADERS,
        timeout_ms=session.patience_ms(TIMEOUT_MS),
        sampling="scattered",
    )
    return parse(RttResult, task.result(load.lasting_s + TIMEOUT_MS / 1000 + 15))

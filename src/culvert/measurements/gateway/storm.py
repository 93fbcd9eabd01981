"""``session_storm``: all clients of a gateway connect at once, or again after a restart or a cut;
or clients come and go at a steady rate (churn).

::

    gateway listens ── all clients start ── [first packet of each] ── ... of the last ── canary

Each client sends from the beginning, before its tunnel has an address; its tunnel is up when the
first of these packets arrives at the gateway. No command's report is believed. Clients that are
connected before send a load of their own meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from culvert.errors import VpnError, some
from culvert.labs.node import Node
from culvert.labs.router.block import LinkCut
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.gateway import proof
from culvert.measurements.gateway.crowd import Load, Seats, Talk, Transport
from culvert.measurements.gateway.crowd_run import CrowdRun
from culvert.measurements.gateway.star import star_of, together
from culvert.measurements.gateway.storming import (
    ALL_AT_ONCE,
    Attempts,
    Pace,
    Storm,
    account,
    connect,
    control_bytes,
    kept_pace,
)
from culvert.measurements.streams.packet import UDP_HEADERS, marked_run
from culvert.measurements.udp.offered_rate import AskedRate
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight
from culvert.probe.results import Accounted, parse
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth, exactly
from culvert.results import Label
from culvert.study.table import problem
from culvert.topology.graph import Role
from culvert.topology.shapes import MOST_NODES
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS, Fraction, PerSecond, plural
from culvert.vpns.abilities import enter

PACKET_BYTES = 100
LOAD_BYTES = 1000
"""Inner packets of the load beside the storm."""
QUIET_MS = 200
STARTING_NS = 20e6
"""From the storm's beginning to a client's first packet, at most, without a VPN."""
LEAST_S = 0.5
"""A storm lasts longer."""
LAST_S = 0.5
"""After the last client has reported: its first packet may still be on its way."""
LESS = Better.LESS
CHURN, CUT = ("event", "churn"), ("event", "cut")


class Event(StrEnum):
    """What makes the clients connect."""

    START = "start"
    """They start, all at once."""
    RESTART = "restart"
    """The gateway was killed and started again; the clients run on."""
    CUT = "cut"
    """No packet passed the gateway's link for a time; all run on."""
    CHURN = "churn"
    """They start one after another, and each leaves again."""

    @property
    def starts(self) -> bool:
        return self in (Event.START, Event.CHURN)


class StormParameters(BaseParameters):
    """Parameters of the storm."""

    clients: Annotated[int, Field(ge=1, le=MOST_NODES), Label("{} clients", {1: "one client"})] = 8
    """Clients that connect."""
    event: Annotated[
        Event,
        Label(
            "{}",
            {
                "start": "they start",
                "restart": "the gateway was restarted",
                "cut": "the gateway's link was cut",
                "churn": "they come and go",
            },
        ),
    ] = Event.START
    """What makes them connect: their start, a restart of the gateway, its link that was cut; or
    they start one after another, and each leaves again."""
    churn: Annotated[PerSecond, Field(gt=0, le=1000), Label("churn {}", where=CHURN)] = 5
    """Clients that come per second, and as many go, for ``event = "churn"``."""
    stay_s: Annotated[
        DurationS, Field(gt=0, le=3600), Label("each for {}", unit="s", where=CHURN)
    ] = Field(2.0, alias="stay")
    """Time for which each of them is connected, for ``event = "churn"``."""
    cut_s: Annotated[DurationS, Field(gt=0, le=3600), Label("a cut of {}", unit="s", where=CUT)] = (
        Field(20.0, alias="cut")
    )
    """Time without a packet, for ``event = "cut"``."""
    established: Annotated[
        Fraction, Field(ge=0, lt=1), Label("{} connected before", {"0%": ""})
    ] = 0.0
    """Share of the clients that are connected before; their loss meanwhile is measured."""
    load: Annotated[AskedRate | None, Label("{} of each", {None: ""})] = None
    """Load of each client that is connected before, in packets of 1,000 bytes; without it, packets
    of 100 bytes at ``rate``."""
    rate: Annotated[PerSecond, Field(gt=0, le=1000), Label("{} packets")] = 20
    """Packets per second of each client; the time of its first one is known to a period."""
    deadline_s: Annotated[DurationS, Field(gt=0, le=600), Label("within {}", unit="s")] = Field(
        60.0, alias="deadline"
    )
    """A client whose packets do not arrive within this time has failed."""
    failures: Annotated[Fraction, Field(ge=0, lt=1), Label("{} may fail", {"0%": ""})] = 0.0
    """Share of the clients that may fail; with more the trial is invalid."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.established and not self.event.starts:
            why = "all clients are connected before a restart of the gateway or a cut of its link"
            raise problem(why, "leave established out")
        if self.before == self.clients:
            why = (
                f"{self.before} of {plural(self.clients, 'client')} connected before: none is left"
            )
            raise problem(why, "write more clients, or a lower share of established")
        if self.load is not None and not self.established:
            why = "no client is connected before that could send a load"
            raise problem(why, 'write established = "50%"')
        return self

    @property
    def pace(self) -> Pace:
        return Pace(1 / self.churn, self.stay_s) if self.event is Event.CHURN else ALL_AT_ONCE

    @property
    def before(self) -> int:
        """Clients that are connected before; of churn at least one, which stays for the proof."""
        least = 1 if self.event is Event.CHURN else 0
        return max(round(self.established * self.clients), least)

    @property
    def coming_s(self) -> float:
        """From the first client that comes to the last."""
        return (self.clients - self.before) * self.pace.period_s


class SessionStorm(Measurement[StormParameters]):
    """All clients connect at once."""

    kind: ClassVar[str] = "session_storm"
    title: ClassVar[str] = "Storm of sessions"
    summary: ClassVar[str] = "all clients of a gateway connect at once: until half and all are up"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "all_up_s",
            "s",
            "Until all clients carried packets",
            LESS,
            Weight.MAIN,
            column=HeadlineColumn(
                "All clients connected",
                key="storm",
                place=60,
                absolute=True,
                superlative="Fastest storm of sessions",
                largest="clients",
            ),
            ways=1,
        ),
        MetricSpec(
            "half_up_s", "s", "Until half of them did", LESS, Weight.KEY, drawn=True, ways=1
        ),
        MetricSpec("p99_up_s", "s", "Until 99\u00a0% of them did", LESS, ways=1),
        MetricSpec("sessions_per_s", "1/s", "Sessions per second", Better.MORE, drawn=True),
        MetricSpec("storm_clients", "clients", "Clients that connected"),
        MetricSpec("failed_clients", "clients", "Clients that failed", LESS),
        MetricSpec("established_loss_ratio", "1", "Loss of clients connected before", LESS),
        MetricSpec(
            "established_goodput_bps", "bit/s", "Goodput of clients connected before", Better.MORE
        ),
        MetricSpec("control_bytes_per_client", "bytes", "Control traffic per client", LESS),
        MetricSpec("gateway_storm_cpu_s", "s", "CPU time of the gateway", LESS),
        MetricSpec("gateway_storm_memory_bytes", "bytes", "Memory of the gateway, peak", LESS),
    )
    Parameters = StormParameters
    drives_tunnel: ClassVar[bool] = True
    joins_members: ClassVar[bool] = True
    drives_many: ClassVar[bool] = True
    accounts: ClassVar[bool] = False

    @classmethod
    def estimate_s(cls, parameters: StormParameters) -> float:
        connecting_s = min(2.0 + 0.05 * parameters.clients, parameters.deadline_s)
        if parameters.event is Event.CHURN:
            return connecting_s + parameters.coming_s + parameters.stay_s
        return connecting_s + (parameters.cut_s if parameters.event is Event.CUT else 0.0)

    @classmethod
    def lab(cls, spec: LabSpec, parameters: StormParameters) -> LabSpec:
        return star_of(cls.kind, spec, parameters.clients)

    @classmethod
    def truths(cls, known: KnownPath, parameters: StormParameters) -> Sequence[Truth]:
        whole = together(known, max(parameters.before, 1))
        carried = whole.payload(["established_goodput_bps"], [], UDP_HEADERS, LEAST_S, True)
        if not (known.bare and parameters.event is Event.START):
            return carried
        storming = float(parameters.clients - parameters.before)
        words = "one way, and at most a period"
        found = known.times(
            ["half_up_s", "p99_up_s", "all_up_s"],
            "s",
            known.one_way_ns(),
            words,
            longer_ns=1e9 / parameters.rate + STARTING_NS,
        )
        found += [
            exactly("storm_clients", storming, "nothing hinders them"),
            exactly("failed_clients", 0.0, "nothing hinders them"),
        ]
        if parameters.before and known.plain and not known.lossy:
            found.append(exactly("established_loss_ratio", 0.0, "the links lose nothing"))
        return [*carried, *found]

    def run(self, session: Session, parameters: StormParameters) -> Outcome:
        """The storm, then every client's canary."""
        (gateway,) = session.lab.of_role(Role.GATEWAY)
        clients = session.lab.of_role(Role.CLIENT)
        before, storming = clients[: parameters.before], clients[parameters.before :]
        enter(session.vpn, gateway)
        connect(session, before if parameters.event.starts else clients, parameters.deadline_s)
        with Seats(session) as seats:
            storm = _storm(session, seats, gateway, before, storming, parameters)
            stay = {node.name for node in (before if parameters.pace.stay_s else clients)}
            carried = [
                *storm.stormed.carried,
                *(storm.steady.carried if storm.steady is not None else ()),
            ]
            up = [one.talk for one in carried if one.sunk.unique and one.talk.client in stay]
            canary = proof.every_canary(session, seats, up, QUIET_MS) if up else None
        failed = storm.failed
        why = next(iter(storm.attempts.failed.values()), "")
        return Outcome(
            metrics=list(storm.metrics(parameters.pace)),
            watched=[],
            series=[storm.series()],
            doubts=[
                Check(
                    "every client came up",
                    len(failed) / len(storming) <= parameters.failures,
                    f"{len(storming) - len(failed)} of {len(storming)} clients within "
                    f"{parameters.deadline_s:g} s"
                    + (f"; not {some(failed, proof.MOST_NAMED)}" if failed else "")
                    + (f": {why}" if why else ""),
                    _remedy(parameters.event),
                    {"failed": failed},
                ),
                *([kept_pace(storm.attempts, parameters.pace)] if parameters.pace.period_s else []),
                *([canary] if canary else []),
            ],
        )


def _remedy(event: Event) -> str:
    remedy = "see the VPN's log on these clients; give them more time: raise deadline; or permit "
    remedy += "failures"
    if event.starts:
        return remedy
    return (
        "this VPN does not detect the event as configured: add its option for that, such as +dpd "
        f"(culvert vpns); or {remedy}"
    )


def _storm(
    session: Session,
    seats: Seats,
    gateway: Node,
    before: Sequence[Node],
    storming: Sequence[Node],
    parameters: StormParameters,
) -> Storm:
    """The packets of all clients run from before the storm until all are up, and have left."""
    vpn, event = session.vpn, parameters.event
    cut = LinkCut(session.lab, gateway.name) if event is Event.CUT else None
    event_ns = gateway.monotonic_ns()
    if event is Event.RESTART:
        vpn.crash(gateway)
        event_ns = gateway.monotonic_ns()
        vpn.join(gateway)
    beside = proof.Beside(session, 1, marked_run(PACKET_BYTES))
    accounts = account(session, gateway)

    def crowd(nodes: Sequence[Node], load: Load) -> CrowdRun:
        talks = [Talk(node.name, node, gateway) for node in nodes]
        return CrowdRun(session, seats, talks, load, session.inner, QUIET_MS)

    light = _light(parameters)
    steady = crowd(before, _steady(session, light, parameters)) if before else None
    run = crowd(storming, light)
    attempts = Attempts()
    if cut is not None:
        cut.begin()
    try:
        if steady is not None:
            steady.start()
        run.start()
        if cut is not None:
            time.sleep(parameters.cut_s)  # part of the method
    finally:
        if cut is not None:
            event_ns = gateway.monotonic_ns()
            cut.end()
    if event.starts:
        event_ns = gateway.monotonic_ns()
        attempts = connect(session, storming, parameters.deadline_s, parameters.pace)
        time.sleep(LAST_S)  # part of the method: the last one's first packet arrives
        stormed = run.stop()
    else:
        stormed = run.until_all(parameters.deadline_s)
    kept = None if steady is None else steady.stop()
    used = parse(Accounted, accounts.stop())
    _refuse_leaks(session, beside)
    trials = [stormed] if kept is None else [stormed, kept]
    # After a restart the gateway also gets packets of sessions that it does not know any more.
    known = event is not Event.RESTART
    control = control_bytes(session, gateway, used, trials) if known else None
    return Storm(event_ns, attempts, stormed, kept, used, control)


def _refuse_leaks(session: Session, beside: proof.Beside) -> None:
    vpn = session.vpn
    leaked = proof.names_in(session, beside.end()) if vpn.outer_flow is not None else []
    if leaked:
        raise VpnError(
            vpn.id,
            f"packets left outside the tunnel at {some(leaked, proof.MOST_NAMED)}",
            "find the route by which they leave",
        )


def _light(parameters: StormParameters) -> Load:
    """That of the clients that connect."""
    return Load(
        Transport.UDP,
        2 * parameters.deadline_s + parameters.cut_s + parameters.coming_s + parameters.stay_s + 30,
        (PACKET_BYTES,),
        rate_pps=parameters.rate,
        segmentation="none",
        early=True,
        until_all=not parameters.event.starts,
    )


def _steady(session: Session, light: Load, parameters: StormParameters) -> Load:
    """That of the clients that are connected before."""
    if parameters.load is None:
        return light
    sizes = (min(LOAD_BYTES, session.inner_mtu(session.source) or LOAD_BYTES),)
    return replace(light, sizes=sizes, rate_pps=parameters.load.packets_per_s(sizes))

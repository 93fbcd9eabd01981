"""``session_storm``: all clients of a gateway connect at once, or again after a restart or a cut.

::

    gateway listens ── all clients start ── [first packet of each] ── ... of the last ── canary

Each client sends from the beginning, before its tunnel has an address; its tunnel is up when the
first of these packets arrives at the gateway. No command's report is believed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from culvert.errors import VpnError
from culvert.labs.node import Node
from culvert.labs.router.block import LinkCut
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.gateway import proof
from culvert.measurements.gateway.crowd import Carried, CrowdRun, Load, Seats, Talk, Transport
from culvert.measurements.gateway.star import star_of
from culvert.measurements.streams.packet import UDP_HEADERS, marked_run
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight
from culvert.probe.client import Task
from culvert.probe.results import Accounted, parse
from culvert.proof.reconcile import ETHERNET_HEADER
from culvert.results import Label, Metric, Series
from culvert.topology.graph import Role
from culvert.topology.shapes import MOST_NODES
from culvert.topology.spec import LabSpec
from culvert.trial.accounting import begin_accounting
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS, Fraction, PerSecond
from culvert.vpns.abilities import enter
from culvert.vpns.base import length_on_underlay
from culvert.vpns.lifecycle import seldom

PACKET_BYTES = 100
QUIET_MS = 200
LAST_S = 0.5
"""After the last client has reported: its first packet may still be on its way."""
LESS = Better.LESS


class Event(StrEnum):
    """What makes the clients connect."""

    START = "start"
    """They start, all at once."""
    RESTART = "restart"
    """The gateway was killed and started again; the clients run on."""
    CUT = "cut"
    """No packet passed the gateway's link for a time; all run on."""


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
            },
        ),
    ] = Event.START
    """What makes them connect: their start, a restart of the gateway, or its link that was cut."""
    cut_s: Annotated[DurationS, Field(gt=0, le=3600), Label("for {}", unit="s")] = Field(
        20.0, alias="cut"
    )
    """Time without a packet, for ``event = "cut"``."""
    established: Annotated[Fraction, Field(ge=0, lt=1), Label("{} connected before", {0.0: ""})] = (
        0.0
    )
    """Share of the clients that are connected before; their loss meanwhile is measured."""
    rate: Annotated[PerSecond, Field(gt=0, le=1000), Label("{} packets")] = 20
    """Packets per second of each client; the time of its first one is known to a period."""
    deadline_s: Annotated[DurationS, Field(gt=0, le=600), Label("within {}", unit="s")] = Field(
        60.0, alias="deadline"
    )
    """A client whose packets do not arrive within this time has failed."""
    failures: Annotated[Fraction, Field(ge=0, lt=1), Label("{} may fail", {0.0: ""})] = 0.0
    """Share of the clients that may fail; with more the trial is invalid."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.established and self.event is not Event.START:
            why = "all clients are connected before a restart of the gateway or a cut of its link"
            raise PydanticCustomError(
                "session_storm", "{why}", {"why": why, "remedy": "leave established out"}
            )
        return self


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
            ),
        ),
        MetricSpec("half_up_s", "s", "Until half of them did", LESS, Weight.KEY, drawn=True),
        MetricSpec("p99_up_s", "s", "Until 99\u00a0% of them did", LESS),
        MetricSpec("sessions_per_s", "1/s", "Sessions per second", Better.MORE, drawn=True),
        MetricSpec("storm_clients", "clients", "Clients that connected"),
        MetricSpec("failed_clients", "clients", "Clients that failed", LESS),
        MetricSpec("established_loss_ratio", "1", "Loss of clients connected before", LESS),
        MetricSpec("control_bytes_per_client", "bytes", "Control traffic per client", LESS),
        MetricSpec("gateway_storm_cpu_s", "s", "CPU time of the gateway", LESS),
        MetricSpec("gateway_storm_memory_bytes", "bytes", "Memory of the gateway, peak", LESS),
    )
    Parameters = StormParameters
    drives_tunnel: ClassVar[bool] = True
    joins_members: ClassVar[bool] = True
    drives_many: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: StormParameters) -> float:
        cut_s = parameters.cut_s if parameters.event is Event.CUT else 0.0
        return cut_s + min(2.0 + 0.05 * parameters.clients, parameters.deadline_s)

    @classmethod
    def lab(cls, spec: LabSpec, parameters: StormParameters) -> LabSpec:
        """A star of as many clients as the parameters state."""
        return star_of(cls.kind, spec, parameters.clients)

    def run(self, session: Session, parameters: StormParameters) -> Outcome:
        """The storm, then every client's canary."""
        vpn = session.vpn
        (gateway,) = session.lab.of_role(Role.GATEWAY)
        clients = session.lab.of_role(Role.CLIENT)
        before, storming = _parted(clients, parameters)
        enter(vpn, gateway)
        _connect(session, before, parameters.deadline_s)
        talks = [Talk(node.name, node, gateway) for node in (*before, *storming)]
        with Seats(session) as seats:
            storm = _Storm(session, seats, talks, gateway, parameters)
            found = storm.run(storming)
            up = [one.talk for one in found.carried if one.sunk.unique]
            canary = proof.every_canary(session, seats, up, QUIET_MS) if up else None
        allowed = int(parameters.failures * len(storming))
        return Outcome(
            metrics=list(found.metrics(len(before))),
            watched=[],
            series=[found.series()],
            doubts=[
                Check(
                    "every client came up",
                    len(found.failed) <= allowed,
                    f"{len(storming) - len(found.failed)} of {len(storming)} clients within "
                    f"{parameters.deadline_s:g} s"
                    + (f"; not {proof.some(found.failed)}" if found.failed else "")
                    + (f": {found.why}" if found.why else ""),
                    "see the VPN's log on these clients; give them more time: raise deadline; or "
                    "permit failures",
                    {"failed": found.failed},
                ),
                *([canary] if canary else []),
            ],
        )


def _parted(
    clients: Sequence[Node], parameters: StormParameters
) -> tuple[Sequence[Node], Sequence[Node]]:
    """Those that are connected before, and those that start in the storm."""
    if parameters.event is not Event.START:
        return clients, []
    count = round(parameters.established * len(clients))
    return clients[:count], clients[count:]


def _connect(session: Session, nodes: Sequence[Node], deadline_s: float) -> dict[str, str]:
    """All at once; the reasons of those that failed, by name."""
    if not nodes:
        return {}
    vpn = session.vpn
    vpn.up_deadline_s = max(vpn.up_deadline_s, deadline_s)
    with seldom(vpn, len(nodes)), ThreadPoolExecutor(len(nodes)) as pool:
        tried: dict[Future[None], str] = {
            pool.submit(enter, vpn, node): node.name for node in nodes
        }
        wait(tried)
    failed = {}
    for future, name in tried.items():
        error = future.exception()
        if isinstance(error, VpnError):
            failed[name] = str(error)
        elif error is not None:
            raise error
    return failed


@dataclass(frozen=True)
class _Found:
    """What happened. ``up_s`` are the times of the storm's clients that came up."""

    carried: Sequence[Carried]
    up_s: Sequence[float]
    failed: Sequence[str]
    why: str
    used: Accounted
    control_bytes: float

    def metrics(self, before: int) -> Iterator[Metric]:
        """``before`` are those that were connected before, and no part of the storm."""
        ordered = sorted(self.up_s)
        yield Metric("storm_clients", "clients", len(ordered))
        yield Metric("failed_clients", "clients", len(self.failed))
        if ordered:
            yield Metric("half_up_s", "s", ordered[(len(ordered) - 1) // 2])
            yield Metric("p99_up_s", "s", ordered[min(int(0.99 * len(ordered)), len(ordered) - 1)])
            yield Metric("all_up_s", "s", ordered[-1])
            yield Metric("sessions_per_s", "1/s", len(ordered) / max(ordered[-1], 1e-9))
            yield Metric("control_bytes_per_client", "bytes", self.control_bytes / len(ordered))
        established = self.carried[:before] if before < len(self.carried) else []
        sent = sum(one.sent.packets for one in established)
        if sent:
            lost = sent - sum(one.sunk.unique for one in established)
            yield Metric("established_loss_ratio", "1", max(lost, 0) / sent)
        if self.used.processes:
            cpu_s = sum(one.run_ns or 0 for one in self.used.processes) / 1e9
            memory = sum(one.vm_hwm_bytes or 0 for one in self.used.processes)
            yield Metric("gateway_storm_cpu_s", "s", cpu_s)
            yield Metric("gateway_storm_memory_bytes", "bytes", memory)

    def series(self) -> Series:
        """How many clients were up, over time."""
        times_ns = [round(1e9 * up_s) for up_s in sorted(self.up_s)]
        return Series("clients_up", "clients", times_ns, list(range(1, len(times_ns) + 1)))


class _Storm:
    """The packets of all clients, which run from before the storm until all are up."""

    def __init__(
        self,
        session: Session,
        seats: Seats,
        talks: Sequence[Talk],
        gateway: Node,
        parameters: StormParameters,
    ) -> None:
        self._session = session
        self._seats = seats
        self._talks = talks
        self._gateway = gateway
        self._parameters = parameters
        self._load = Load(
            Transport.UDP,
            2 * parameters.deadline_s + parameters.cut_s + 30,
            (PACKET_BYTES,),
            rate_pps=parameters.rate,
            segmentation="none",
            early=True,
            until_all=parameters.event is not Event.START,
        )

    def run(self, storming: Sequence[Node]) -> _Found:
        session, vpn, gateway = self._session, self._session.vpn, self._gateway
        event = self._parameters.event
        cut = LinkCut(session.lab, gateway.name) if event is Event.CUT else None
        begun_ns = gateway.monotonic_ns()
        if event is Event.RESTART:
            vpn.crash(gateway)
            begun_ns = gateway.monotonic_ns()
            vpn.join(gateway)
        beside = proof.Beside(session, 1, marked_run(PACKET_BYTES))
        accounts = self._account()
        run = CrowdRun(session, self._seats, self._talks, self._load, session.inner, QUIET_MS)
        failed: dict[str, str] = {}
        if cut is not None:
            cut.begin()
        try:
            run.start()
            if cut is not None:
                time.sleep(self._parameters.cut_s)  # part of the method
        finally:
            if cut is not None:
                begun_ns = gateway.monotonic_ns()
                cut.end()
        if event is Event.START:
            begun_ns = gateway.monotonic_ns()
            failed = _connect(session, storming, self._parameters.deadline_s)
            time.sleep(LAST_S)  # part of the method: the last one's first packet arrives
            trial = run.stop()
        else:
            trial = run.until_all(self._parameters.deadline_s)
        used = parse(Accounted, accounts.stop())
        leaked = proof.names_in(session, beside.end()) if vpn.outer_flow is not None else []
        if leaked:
            raise VpnError(
                vpn.id,
                f"packets left outside the tunnel at {proof.some(leaked)}",
                "find the route by which they leave",
            )
        names = {node.name for node in (storming or [talk.source for talk in self._talks])}
        up_s, missing = [], []
        for one in trial.carried:
            if one.talk.client not in names:
                continue
            first_ns = one.sunk.first_ns
            if first_ns is None or one.talk.client in failed:
                missing.append(one.talk.client)
            else:
                up_s.append(max(first_ns - begun_ns, 0) / 1e9)
        received = sum(one.sunk.packets for one in trial.carried)
        return _Found(
            trial.carried,
            up_s,
            missing,
            next(iter(failed.values()), ""),
            used,
            self._control_bytes(used, received),
        )

    def _account(self) -> Task:
        session, gateway = self._session, self._gateway
        processes = session.vpn.processes[gateway.name]
        task = begin_accounting(session.b, processes, [gateway.underlay.device])
        task.ready()
        return task

    def _control_bytes(self, used: Accounted, received: int) -> float:
        """What the gateway's link carried beside the clients' packets."""
        device = used.device(self._gateway.underlay.device)
        if device is None:
            return 0.0
        outer = length_on_underlay(self._session.vpn, PACKET_BYTES) or PACKET_BYTES + UDP_HEADERS
        data = received * (outer + ETHERNET_HEADER)
        return max(float(device.rx_bytes + device.tx_bytes - data), 0.0)

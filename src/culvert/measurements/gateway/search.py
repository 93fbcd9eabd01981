"""``gateway_search``: how many clients with a rate each a gateway carries, or which rate of all.

::

    all clients connected ── canary of each ── trials: k of them send ... NDR, PDR ── bare links

MLRsearch searches over the rate of all clients together. With a ``rate`` a client has that rate and
the number of clients that send follows; without one all send, and each has its part.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.measurements.base import SAMPLE_ONE_IN, Measurement
from culvert.measurements.ceiling import CEILING_METRICS, ceiling_metrics, ceiling_truths
from culvert.measurements.gateway import proof
from culvert.measurements.gateway.ceiling import packets_ceiling
from culvert.measurements.gateway.crowd import (
    Carried,
    CrowdTrial,
    Load,
    Seats,
    Transport,
)
from culvert.measurements.gateway.crowd_run import CrowdRun
from culvert.measurements.gateway.load import all_up, spread
from culvert.measurements.gateway.star import CLIENT_S, star_of, together
from culvert.measurements.mtu.max_size import find_max_size
from culvert.measurements.parameters import RATE, SIZES
from culvert.measurements.streams.packet import UDP_HEADERS, intact, marked_run
from culvert.measurements.streams.udp_stream import quiet_ms
from culvert.measurements.udp.goal import (
    GOAL_METRICS,
    SearchParameters,
    goal_metrics,
    search_checks,
    search_series,
)
from culvert.measurements.udp.offered_rate import AskedRate
from culvert.measurements.udp.packet_sizes import MAX, Sizes, parse_sizes
from culvert.measurements.udp.rates import carried
from culvert.measurements.udp.search import Bounds, Measure, SearchTrial, search
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight
from culvert.probe.results.crowd import MemberSent, MemberSunk
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth
from culvert.results import Label, Metric, measured
from culvert.topology.shapes import MOST_NODES
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import echo_traffic

UNPACED_S = 0.3
EXPECTED_DECISIONS = 8
NO_ECHOES = echo_traffic(0, 0, 0, 0)
TITLES = {"pdr": "with little loss (PDR)", "ndr": "without loss (NDR)"}


class GatewaySearchParameters(SearchParameters):
    """Parameters of the clients, and of the search."""

    clients: Annotated[int, Field(ge=1, le=MOST_NODES), Label("{} clients", {1: "one client"})] = 8
    """Clients that are connected, and the most that send."""
    rate: Annotated[AskedRate | None, RATE] = None
    """Of each client: how many of them are carried is searched for. Without it all send, and the
    rate is searched for."""
    packet_size: Annotated[Sizes, SIZES] = MAX
    """Bytes of the inner IP packet, as for `udp`: a size, ``max``, ``imix`` or a pattern."""
    threads: Annotated[int, Field(ge=1, le=64), Label("{} threads", {1: ""})] = 1
    """Threads that send for the clients, and as many that receive."""


def _declared(short: str, weight: Weight, column: HeadlineColumn | None) -> list[MetricSpec]:
    title, more = TITLES[short], Better.MORE
    return [
        MetricSpec(f"{short}_bps", "bit/s", f"Goodput {title}", more, weight, column=column),
        MetricSpec(f"{short}_clients", "clients", f"Clients {title}", more, drawn=True),
        MetricSpec(f"{short}_upper_clients", "clients", f"Clients {title}, upper bound", more),
        MetricSpec(f"{short}_pps", "packets/s", f"Packets {title}", more),
        MetricSpec(
            f"{short}_upper_pps", "packets/s", f"Packets {title}, upper bound", more, offered=True
        ),
    ]


_COLUMN = HeadlineColumn(
    "Goodput of many clients with little loss (PDR)",
    key="gateway_search",
    place=51,
    superlative="Highest goodput of many clients with little loss (PDR)",
    sentence="carries {} of many clients with little loss (PDR)",
    largest="clients",
)


class GatewaySearch(Measurement[GatewaySearchParameters]):
    """NDR and PDR over the number of clients, or over their rate."""

    kind: ClassVar[str] = "gateway_search"
    title: ClassVar[str] = "Capacity of a gateway"
    summary: ClassVar[str] = "the most clients, or their highest rate, with no and little loss"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        *_declared("pdr", Weight.MAIN, _COLUMN),
        *_declared("ndr", Weight.KEY, None),
        *GOAL_METRICS,
        *CEILING_METRICS,
    )
    Parameters = GatewaySearchParameters
    saturates: ClassVar[bool] = True
    drives_many: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: GatewaySearchParameters) -> float:
        trials = EXPECTED_DECISIONS * parameters.duration_sum_s / parameters.trial_s
        clients = parameters.clients
        return CLIENT_S * clients + trials * (parameters.trial_s + 0.2 + 0.001 * clients)

    @classmethod
    def lab(cls, spec: LabSpec, parameters: GatewaySearchParameters) -> LabSpec:
        return star_of(cls.kind, spec, parameters.clients)

    @classmethod
    def truths(cls, known: KnownPath, parameters: GatewaySearchParameters) -> Sequence[Truth]:
        sizes = parse_sizes(parameters.packet_size).resolved(known.mtu)
        whole, each = together(known, parameters.clients), parameters.rate
        most_pps = parameters.clients * each.packets_per_s(sizes) if each else math.inf
        return [
            *carried(whole, sizes, parameters.trial_s, most_pps=most_pps),
            *ceiling_truths(whole, sizes),
        ]

    def run(self, session: Session, parameters: GatewaySearchParameters) -> Outcome:
        """Every client's canary, the search, then the ceiling."""
        requested = parse_sizes(parameters.packet_size)
        sizes = requested.resolved(find_max_size(session) if requested.needs_max else None)
        load = Load(Transport.UDP, UNPACED_S, sizes, threads=parameters.threads)
        quiet = quiet_ms(session, session.inner(session.target))
        clients = parameters.clients
        each_pps = parameters.rate.packets_per_s(sizes) if parameters.rate else None
        with Seats(session) as seats:
            crowd = _Crowd(session, seats, load, quiet)
            canary = proof.every_canary(session, seats, crowd.talks, quiet)
            beside = proof.Beside(session, SAMPLE_ONE_IN, marked_run(min(sizes)))
            with session.watch(
                sample_one_in=SAMPLE_ONE_IN, marked_run=marked_run(min(sizes))
            ) as watched:
                if each_pps:
                    measure = by_clients(crowd.measure, each_pps, clients)
                    most_pps = each_pps * clients
                else:
                    unpaced = crowd.send(clients, load)
                    sent_pps = unpaced.offered / max(unpaced.seconds, 1e-9)
                    line = together(KnownPath.of(session), clients).packets_per_s(sizes)
                    most_pps = min(sent_pps, line or math.inf)
                    measure = _of_all(crowd.measure, clients)
                (ndr, pdr), trials = search(measure, parameters.plan(most_pps))
            seen = beside.end()
            whole = merged(crowd.trials)
            ceiling = packets_ceiling(session, seats, crowd.talks, load, whole.segmentation, quiet)
        payload_bits = 8 * (sum(sizes) / len(sizes) - UDP_HEADERS)
        return Outcome(
            metrics=[
                *bounds_metrics("ndr", ndr, payload_bits, each_pps),
                *bounds_metrics("pdr", pdr, payload_bits, each_pps),
                *goal_metrics(parameters, trials),
                *ceiling_metrics(ceiling),
            ],
            watched=[watched],
            goodput_bytes=sum(one.sunk.unique_bytes for one in whole.carried),
            series=search_series(trials),
            doubts=[
                canary,
                *proof.judge(session, whole, watched, seen, NO_ECHOES),
                *search_checks(session, ndr, pdr, trials, ceiling),
                intact(sum(one.sunk.corrupt for one in whole.carried)),
            ],
        )


MeasureClients = Callable[[int, float, float], SearchTrial]
"""Measure once: clients that send, packets per second of all of them, seconds."""


def by_clients(measure: MeasureClients, each_pps: float, most: int) -> Measure:
    """A rate of all clients is that of so many clients with a rate each."""

    def at(rate_pps: float, duration_s: float) -> SearchTrial:
        count = min(clients_of(rate_pps, each_pps), most)
        return replace(measure(count, count * each_pps, duration_s), rate_pps=rate_pps)

    return at


def clients_of(rate_pps: float, each_pps: float) -> int:
    """How many have a rate together; at least one."""
    return max(round(rate_pps / each_pps), 1)


def _of_all(measure: MeasureClients, clients: int) -> Measure:
    return lambda rate_pps, duration_s: measure(clients, rate_pps, duration_s)


def bounds_metrics(
    name: str, bounds: Bounds, payload_bits: float, each_pps: float | None
) -> list[Metric]:
    """0 if even the lowest rate lost too much; no upper bound if the highest did not."""
    carried, upper = bounds.forwarded_pps or 0.0, bounds.upper_pps
    values = {
        f"{name}_bps": carried * payload_bits,
        f"{name}_pps": carried,
        f"{name}_upper_pps": upper,
    }
    if each_pps:
        values[f"{name}_clients"] = clients_of(carried, each_pps) if carried else 0
        values[f"{name}_upper_clients"] = clients_of(upper, each_pps) if upper else None
    return measured(GatewaySearch.metrics, values)


class _Crowd:
    """The clients; keeps every trial, and with it all packets that went through the tunnels."""

    def __init__(self, session: Session, seats: Seats, load: Load, quiet: int) -> None:
        self._session, self._seats, self._load, self._quiet = session, seats, load, quiet
        self.talks = all_up(session)
        self.trials: list[CrowdTrial] = []

    def send(self, count: int, load: Load) -> CrowdTrial:
        session = self._session
        talks = spread(self.talks, count)
        run = CrowdRun(session, self._seats, talks, load, session.inner, self._quiet)
        trial = run.start().finish()
        self.trials.append(trial)
        return trial

    def measure(self, count: int, rate_pps: float, duration_s: float) -> SearchTrial:
        load = replace(self._load, duration_s=duration_s, rate_pps=rate_pps / count)
        trial = self.send(count, load)
        return SearchTrial(
            rate_pps=rate_pps,
            duration_s=duration_s,
            scheduled=trial.scheduled or 0,
            offered=trial.offered,
            forwarded=trial.forwarded_packets,
            forwarded_pps=trial.forwarded.pps,
            socket_drops=trial.socket_drops,
        )


def merged(trials: Sequence[CrowdTrial]) -> CrowdTrial:
    """All trials as one, in which each client sent and received all that it did in any."""
    by_client: dict[str, list[Carried]] = {}
    for trial in trials:
        for one in trial.carried:
            by_client.setdefault(one.talk.client, []).append(one)
    last = trials[-1]
    return replace(
        last,
        carried=[_sum(parts) for parts in by_client.values()],
        late_s=max(trial.late_s for trial in trials),
        series=[],
    )


def _sum(parts: Sequence[Carried]) -> Carried:
    errors: Counter[str] = Counter()
    for part in parts:
        errors.update(part.sent.send_errors)
    sent, sunk = [part.sent for part in parts], [part.sunk for part in parts]
    return Carried(
        parts[0].talk,
        MemberSent(
            packets=sum(one.packets for one in sent),
            bytes=sum(one.bytes for one in sent),
            send_errors=dict(errors),
        ),
        MemberSunk(
            packets=sum(one.packets for one in sunk),
            bytes=sum(one.bytes for one in sunk),
            duplicates=sum(one.duplicates for one in sunk),
            duplicate_bytes=sum(one.duplicate_bytes for one in sunk),
            corrupt=sum(one.corrupt for one in sunk),
            socket_drops=sum(one.socket_drops or 0 for one in sunk),
        ),
    )

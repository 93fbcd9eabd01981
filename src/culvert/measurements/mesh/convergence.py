"""``convergence``: members join at once, until each pair has exchanged a packet and has its route.

::

    command ── all joined ── every pair has exchanged a packet ── every pair has its route
       └───────── requests of each pair whose ends have joined ─────────┘
       └── bytes of each link, without the pairs' own packets: control traffic ────────┘

A mesh has a pair for each two members, a VPN of two ends one for each client and its gateway. The
servers, and a gateway, run before.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.errors import NotPossible, some
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.mesh.costs import Costs, costs_of, watch_links
from culvert.measurements.mesh.exchange import Exchange, Pair
from culvert.measurements.mesh.routes import Routed, await_routes
from culvert.measurements.tunnel.looking import EndCaptures
from culvert.metrics import Better, MetricSpec, Weight
from culvert.probe.client import Probe
from culvert.proof.known import KnownPath
from culvert.proof.route import judge_all_relayed
from culvert.proof.truth import Truth, exactly
from culvert.results import Metric, measured
from culvert.topology.graph import Path
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS
from culvert.vpns.abilities import enter, newcomers
from culvert.vpns.lifecycle import waiting

MOST_NAMED = 5
"""Pairs that a reason names."""
_LESS = Better.LESS


class ConvergenceParameters(BaseParameters):
    """Parameters of the pairs' requests, and deadlines."""

    interval_s: Annotated[DurationS, Field(ge=0.001, le=10)] = Field(0.05, alias="interval")
    """Time between two requests of a pair until one is answered."""
    exchange_max_s: Annotated[DurationS, Field(gt=0, le=3600)] = Field(60.0, alias="exchange_max")
    """Longest time until a pair whose members have joined has exchanged a packet, and until a
    member has joined."""
    route_max_s: Annotated[DurationS, Field(gt=0, le=3600)] = Field(60.0, alias="route_max")
    """Longest time after that until every pair has its route."""


class Convergence(Measurement[ConvergenceParameters]):
    """All members in each trial, on a new VPN."""

    kind: ClassVar[str] = "convergence"
    title: ClassVar[str] = "Convergence"
    summary: ClassVar[str] = "members join at once: time until every pair talks, control traffic"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("exchanged_s", "s", "Until every pair talked", _LESS, Weight.MAIN, ways=1),
        MetricSpec("exchanged_p50_s", "s", "Until half of the pairs talked", _LESS),
        MetricSpec("joined_s", "s", "Until every member had joined", _LESS),
        MetricSpec("routed_s", "s", "Until every pair had its route", _LESS, Weight.KEY),
        MetricSpec("routed_resolution_s", "s", "Duration of a query of all routes"),
        MetricSpec("direct_pairs", "pairs", "Pairs with a direct route"),
        MetricSpec("pairs", "pairs", "Pairs"),
        MetricSpec("members", "nodes", "Members"),
        MetricSpec("member_link_bytes", "bytes", "Bytes on a member's link", _LESS),
        MetricSpec(
            "member_control_bytes", "bytes", "Control traffic of a member", _LESS, Weight.KEY
        ),
        MetricSpec("server_control_bytes", "bytes", "Control traffic of a server", _LESS),
        MetricSpec("member_memory_bytes", "bytes", "Memory of a member", _LESS, Weight.KEY),
        MetricSpec("server_memory_bytes", "bytes", "Memory of a server", _LESS),
        MetricSpec("server_cpu_s", "s", "CPU time of a server", _LESS),
    )
    Parameters = ConvergenceParameters
    drives_tunnel: ClassVar[bool] = True
    joins_members: ClassVar[bool] = True
    accounts: ClassVar[bool] = False

    @classmethod
    def estimate_s(cls, parameters: ConvergenceParameters) -> float:
        """Seconds of one trial, approximately: it depends on the VPN and the number of members."""
        return min(10.0, parameters.exchange_max_s)

    @classmethod
    def truths(cls, known: KnownPath, parameters: ConvergenceParameters) -> Sequence[Truth]:
        words = "one round trip, and at most an interval of requests"
        found = known.times(
            ["exchanged_s", "exchanged_p50_s"],
            "s",
            known.round_trip_ns(),
            words,
            longer_ns=1e9 * parameters.interval_s,
        )
        if known.bare:
            found.append(exactly("member_control_bytes", 0.0, "no VPN talks"))
        return found

    def run(self, session: Session, parameters: ConvergenceParameters) -> Outcome:
        """Join, exchange, await the routes; the links are watched all the time."""
        if len(session.lab.spec.topology.paths) > 1:
            raise NotPossible(
                self.kind, "it measures all pairs of members at once", "name one path in [lab]"
            )
        vpn = session.vpn
        if not vpn.joins_together:
            raise NotPossible(
                vpn.id, "its members cannot join at the same time here", "leave convergence out"
            )
        vpn.up_deadline_s = max(vpn.up_deadline_s, parameters.exchange_max_s)
        for member in waiting(vpn, vpn.joining):
            enter(vpn, member)
        captures = EndCaptures(session)
        with ExitStack() as stack:
            probes = _probes(session, stack)
            links = watch_links(session, probes)
            exchange = Exchange(session, probes, parameters.interval_s, parameters.exchange_max_s)
            joined_s = _join_all(session, exchange)
            pairs = exchange.answers()
            silent = [pair for pair in pairs if pair.exchanged_s is None]
            talking = [pair.path for pair in pairs if pair.exchanged_s is not None]
            routed = await_routes(
                session,
                talking,
                begun_ns=exchange.begun_ns,
                deadline_s=parameters.route_max_s,
                nudge=exchange.nudge,
            )
            if not silent:
                exchange.await_again(session.path)
            costs = costs_of(session, links, exchange.end())
            watched_s = (time.monotonic_ns() - exchange.begun_ns) / 1e9
        return Outcome(
            metrics=[*_times(pairs, joined_s, routed), *_costs(costs)],
            watched=[],
            doubts=[
                *captures.checks(),
                _all_exchanged(silent, len(pairs), parameters.exchange_max_s),
                _all_routed(session, routed, parameters.route_max_s),
                *_all_relayed(session, costs, [pair.path for pair in pairs], watched_s),
            ],
        )


def _probes(session: Session, stack: ExitStack) -> dict[str, Probe]:
    """One on each member and server; those of the session stay open."""
    probes = {**session.ends, **session.others}
    for node in session.lab.members:
        if node.name not in probes:
            probes[node.name] = stack.enter_context(Probe(node))
    return probes


def _join_all(session: Session, exchange: Exchange) -> float:
    """Let all newcomers enter at once; returns the seconds until the last one has joined."""
    vpn = session.vpn
    with ThreadPoolExecutor(max_workers=len(newcomers(vpn))) as pool:
        exchange.begun_ns = time.monotonic_ns()
        entering = {pool.submit(enter, vpn, node): node for node in newcomers(vpn)}
        for number, entered in enumerate(as_completed(entering)):
            entered.result()
            first = waiting(vpn, vpn.joining) if number == 0 else ()
            for node in (entering[entered], *first):
                exchange.welcome(node)
    return (time.monotonic_ns() - exchange.begun_ns) / 1e9


def _times(pairs: Sequence[Pair], joined_s: float, routed: Routed) -> list[Metric]:
    exchanged_s = [pair.exchanged_s for pair in pairs if pair.exchanged_s is not None]
    values = {
        "joined_s": joined_s,
        "pairs": len(pairs),
        "direct_pairs": routed.direct,
        "routed_resolution_s": routed.resolution_s,
        "exchanged_s": max(exchanged_s, default=None),
        "exchanged_p50_s": statistics.median(exchanged_s) if exchanged_s else None,
        "routed_s": routed.seconds,
    }
    return measured(Convergence.metrics, values)


def _costs(costs: Costs) -> list[Metric]:
    each = []
    for cost in costs.members:
        of_member = {
            "member_link_bytes": cost.link_bytes,
            "member_control_bytes": cost.control_bytes,
            "member_memory_bytes": cost.memory_bytes,
        }
        each += measured(Convergence.metrics, of_member, {"node": cost.node})
    by_name: dict[str, list[float]] = defaultdict(list)
    for metric in each:
        by_name[metric.name].append(metric.value)
    middles = {name: statistics.median(values) for name, values in by_name.items()}
    metrics = measured(Convergence.metrics, {"members": len(costs.members), **middles}) + each
    for cost in costs.servers:
        values = {
            "server_control_bytes": cost.link_bytes,
            "server_memory_bytes": cost.memory_bytes or 0,
            "server_cpu_s": cost.cpu_s,
        }
        labels = {"node": cost.node, "role": cost.role}
        metrics += measured(Convergence.metrics, values, labels)
    return metrics


def _all_exchanged(silent: Sequence[Pair], count: int, deadline_s: float) -> Check:
    return Check(
        "every pair exchanged a packet",
        not silent,
        f"{count - len(silent)} of {count} pairs"
        + (
            f"; not within {deadline_s:g} s: {some([pair.path for pair in silent], MOST_NAMED)}"
            if silent
            else ""
        ),
        "see the VPN's own status on these members; give it more time: raise exchange_max",
    )


def _all_routed(session: Session, routed: Routed, deadline_s: float) -> Check:
    late = routed.late
    found = "".join(
        f"; {path}: {route or 'none'} instead of {session.vpn.route(path)}"
        for path, route in list(late.items())[:MOST_NAMED]
    )
    return Check(
        "every pair has its route",
        not late,
        f"{len(late)} pairs have another route, {deadline_s:g} s after the last exchange{found}"
        if late
        else f"{routed.direct} pairs are direct, {routed.relayed} relayed as the VPN claims",
        "a NAT or blocked UDP may force a relay; give it more time: raise route_max",
    )


def _all_relayed(
    session: Session, costs: Costs, paths: Sequence[Path], watched_s: float
) -> list[Check]:
    """Where every pair is claimed to go through a server, unless links carry other packets too."""
    servers = {cost.node for cost in costs.servers}
    via = {session.vpn.route(path).via for path in paths}
    if session.lab.real_links or not via <= servers:
        return []
    return [
        judge_all_relayed(
            session,
            sent=costs.sent_by_members,
            received=costs.received_by_servers,
            members=len(costs.members),
            seconds=watched_s,
        )
    ]

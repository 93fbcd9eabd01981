"""Proof that scales: every client's canary, and a search of all clients' packets.

A client whose packets left outside the tunnel is named. ``bytes`` compares what the links carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.errors import some
from culvert.measurements.gateway.bytes import bytes_reconcile
from culvert.measurements.gateway.crowd import (
    CrowdTrial,
    Load,
    Seats,
    Talk,
    Transport,
    inside,
)
from culvert.measurements.gateway.crowd_run import CrowdRun
from culvert.measurements.streams.packet import intact
from culvert.probe.results import Captured
from culvert.proof.capture import judge_capture
from culvert.topology.shapes import CORE
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.traffic import InnerTraffic
from culvert.trial.watch import Watched

CANARY_BYTES = 1000
CANARY_PPS = 20.0
CANARY_S = 0.25
LATEST_S = 0.25
"""A source that begins later than the others is not one of many at once."""
MOST_NAMED = 5
_EXPERT = "find the route by which it leaves; then measure again"


def every_canary(session: Session, seats: Seats, talks: Sequence[Talk], quiet_ms: int) -> Check:
    """A few marked packets of each client arrive at the gateway; all packets of the links are
    searched for them meanwhile."""
    inner_mtu = session.inner_mtu(session.source) or CANARY_BYTES
    load = Load(Transport.UDP, CANARY_S, (min(CANARY_BYTES, inner_mtu),), rate_pps=CANARY_PPS)
    beside = Beside(session, 1, CANARY_BYTES // 2)
    trial = CrowdRun(session, seats, talks, load, inside(session), quiet_ms).start().finish()
    missing = [one.talk.client for one in trial.carried if not one.sunk.unique]
    readable = names_in(session, beside.end()) if session.vpn.outer_flow is not None else []
    if readable:
        return Check(
            "every client's canary",
            passed=False,
            detail=f"packets left outside the tunnel at {', '.join(readable)}",
            remedy=_EXPERT,
        )
    return Check(
        "every client's canary",
        not missing,
        f"marked packets of {len(talks) - len(missing)} of {len(talks)} clients arrived"
        + (f"; none of {some(missing, MOST_NAMED)}" if missing else ""),
        "the VPN reports these clients as connected, but their packets do not arrive: see its log",
        {"clients": len(talks), "missing": missing},
    )


class Beside:
    """A search of all packets that arrive at the core router, from its creation on. Where the links
    are real there is no core: captures at the path's ends are all."""

    def __init__(self, session: Session, sample_one_in: int, marked_run: int) -> None:
        self._capture = None
        if CORE in session.others:
            self._capture = session.look_at_router(
                CORE, sample_one_in=sample_one_in, marked_run=marked_run
            )
            self._capture.ready()

    def end(self) -> Captured | None:
        return None if self._capture is None else self._capture.end()


def judge(
    session: Session,
    trial: CrowdTrial,
    watched: Watched,
    seen: Captured | None,
    echoes: InnerTraffic,
) -> list[Check]:
    """The checks of a load."""
    checks = [
        Check(
            "all clients began together",
            trial.late_s <= LATEST_S,
            f"the last of them began {max(trial.late_s, 0):.3f} s late",
            "the machine is too slow to open so many sockets: use fewer clients",
        ),
        intact(sum(one.sunk.corrupt for one in trial.carried)),
        Check(
            "the load arrived",
            any(one.sunk.bytes for one in trial.carried),
            f"nothing arrived of {len(trial.carried)} clients that sent",
            "the machine is too slow for so many clients: use fewer, or repeat it when less runs",
        ),
    ]
    if seen is not None:
        where, impairment = f"at {CORE}, from all clients", session.link.impairment
        for check in judge_capture(
            session.vpn,
            seen,
            where,
            corruption=impairment.corrupts,
            duplication=impairment.duplicates,
        ):
            names = [] if check.passed else names_in(session, seen)
            named = f"{check.detail}; of {some(names, MOST_NAMED)}" if names else check.detail
            checks.append(replace(check, detail=named))
    return [*checks, *bytes_reconcile(session, trial, watched, echoes)]


def names_in(session: Session, seen: Captured | None) -> list[str]:
    """The nodes whose addresses, inside or outside the tunnel, are sources of packets that are not
    the tunnel's or carry the canary."""
    if seen is None:
        return []
    clear = [seen.canary_example] if seen.canary_example else []
    addresses: dict[str, str] = {}
    for node in session.lab.members:
        addresses[str(node.underlay.reached_at.ip)] = node.name
        addresses[session.inner(node)] = node.name
    sources = [example.split(" ")[0] for example in (*clear, *seen.other.examples)]
    return list(dict.fromkeys(addresses[one] for one in sources if one in addresses))


def connected(trial: CrowdTrial) -> Check:
    """Each connection carried data."""
    idle = [one.talk.client for one in trial.carried if not one.sunk.bytes]
    return Check(
        "every client's connection carried data",
        not idle,
        f"nothing arrived of {some(idle, MOST_NAMED)}"
        if idle
        else f"of {len(trial.carried)} clients",
        "see the VPN's log on these clients",
    )

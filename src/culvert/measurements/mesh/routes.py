"""Waiting until each pair has the route that its VPN claims: direct, or through its relay."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from culvert.errors import DeadlineExceeded
from culvert.topology.graph import Path
from culvert.trial.session import Session
from culvert.vpns.abilities import routes
from culvert.vpns.variant import DIRECT, Route
from culvert.waiting import wait_until

POLL_S = 0.05


@dataclass(frozen=True)
class Routed:
    """The result. ``seconds`` from the command to the query in which the last pair had its route;
    None if ``late`` pairs, with their present route, have another one or none."""

    seconds: float | None
    resolution_s: float
    direct: int
    relayed: int
    late: Mapping[Path, Route | None]


def await_routes(
    session: Session,
    paths: Sequence[Path],
    *,
    begun_ns: int,
    deadline_s: float,
    nudge: Callable[[Iterable[Path]], None],
) -> Routed:
    """Query the routes of all pairs until each is as claimed; between queries the others exchange a
    packet."""
    vpn = session.vpn
    waiting: dict[Path, Route | None] = dict.fromkeys(paths)
    settled: dict[Path, Route] = {}
    resolution_s = 0.0

    def all_settled() -> bool:
        nonlocal resolution_s
        if settled:
            nudge(waiting)
        queried = time.monotonic()
        found = _query(session, waiting)
        for path, route in found.items():
            if route == vpn.route(path):
                settled[path] = route
                del waiting[path]
            else:
                waiting[path] = route
        resolution_s = time.monotonic() - queried
        return not waiting

    with suppress(DeadlineExceeded):
        wait_until(all_settled, what="the routes", deadline_s=deadline_s, poll_s=POLL_S)
    direct = sum(route == DIRECT for route in settled.values())
    return Routed(
        None if waiting else (time.monotonic_ns() - begun_ns) / 1e9,
        resolution_s,
        direct,
        len(settled) - direct,
        waiting,
    )


def _query(session: Session, paths: Iterable[Path]) -> dict[Path, Route]:
    nodes = session.lab.nodes
    targets: dict[str, list[Path]] = defaultdict(list)
    for path in paths:
        targets[path.source].append(path)
    found: dict[Path, Route] = {}
    for source, of_source in targets.items():
        known = routes(session.vpn, nodes[source], [nodes[path.target] for path in of_source])
        found |= {path: known[path.target] for path in of_source if path.target in known}
    return found

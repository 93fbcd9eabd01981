"""How far a host's clock is ahead of this machine's, from the times of a few requests."""

from __future__ import annotations

import time
from dataclasses import dataclass

from culvert.labs.hosts.host import SshHost

ROUNDS = 8


@dataclass(frozen=True)
class Offset:
    """``ahead_ns`` of CLOCK_REALTIME, by at most ``uncertainty_ns`` wrong: half of the shortest
    round trip, whose two ways need not take equally long."""

    ahead_ns: int
    uncertainty_ns: int


def offset_of(host: SshHost) -> Offset:
    """From the request with the shortest round trip."""
    found = []
    for _ in range(ROUNDS):
        asked_ns = time.time_ns()
        there_ns = int(host.clocks()["realtime_ns"])
        answered_ns = time.time_ns()
        found.append((answered_ns - asked_ns, there_ns - (asked_ns + answered_ns) // 2))
    round_trip_ns, ahead_ns = min(found)
    return Offset(ahead_ns, round_trip_ns // 2)

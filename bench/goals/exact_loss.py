"""A router drops exactly k packets of n: what does the probe say?"""

from __future__ import annotations

from typing import ClassVar

from bench.bare import bare_session
from bench.goal import ROUNDS, Goal, Samples
from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.streams.udp_stream import UdpStream, udp_trial
from culvert.runid import new_run_id
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec

ONE_IN = 50
SIZE = 200
RATE_PPS = 5000
SECONDS = 1
DROP = (
    "add table ip bench; add chain ip bench f {{ type filter hook forward priority 10; }}; "
    "add rule ip bench f ip length {size} numgen inc mod {one_in} 0 counter drop"
)


class ExactLoss(Goal):
    """An nftables rule on a router drops each 50th packet, and counts them."""

    name: ClassVar[str] = "exact-loss"
    what: ClassVar[str] = "losses reported beyond or below those that nftables made"
    unit: ClassVar[str] = "packets"
    goal: ClassVar[str] = "exactly none"

    def measure(self) -> Samples:
        """A lab each time: the counter starts at none."""
        return Samples(ours=[_difference() for _ in range(ROUNDS)])

    def met(self, samples: Samples) -> bool:
        """Every time."""
        return all(difference == 0 for difference in samples.ours)


def _difference() -> float:
    with NetnsLab(new_run_id(), LabSpec(topology=routed())) as lab:
        lab.nodes["router"].run(["nft", DROP.format(size=SIZE, one_in=ONE_IN)])
        with bare_session(lab) as session:
            stream = UdpStream(session.inner(lab.b), (SIZE,), SECONDS, rate_pps=RATE_PPS)
            trial = udp_trial(session, stream)
        return float(abs(trial.sent.offered - trial.unique - _dropped(lab)))


def _dropped(lab: Lab) -> int:
    words = lab.nodes["router"].run(["nft", "list", "table", "ip", "bench"]).stdout.split()
    return int(words[words.index("packets") + 1])

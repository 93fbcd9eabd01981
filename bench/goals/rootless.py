"""A tunnel without root beside one with root: the figures must be equal."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from itertools import product
from typing import ClassVar

from bench.awake import awake
from bench.bounds import RatioNearOne
from bench.goal import Samples, alternate
from bench.kept_tunnel import METRICS, kept
from culvert import tools

TUNNELS = 12
"""Pairs of tunnels: each tunnel has a place in memory and caches of its own, good for some per
cent, which no number of rounds over it evens out."""
ROUNDS, SPARE = 4, 2
"""Short trials by turns over a pair, so that what else the machine does meets both alike; spare
ones replace those in which the host took time away."""
VPNS = ("wireguard/go", "none")

Figure = tuple[str, str]
"""VPN and metric."""


class RootlessEqualsRoot(RatioNearOne):
    """The figure whose ratio is furthest from 1; all of them are in the details."""

    name: ClassVar[str] = "rootless-equals-root"
    what: ClassVar[str] = "TCP goodput and median RTT of none and wireguard/go, without root"
    peer: ClassVar[str] = "with root"
    unit: ClassVar[str] = "the figure's"
    goal: ClassVar[str] = "each ratio within 3 % of 1"
    tolerance: ClassVar[float] = 0.03
    vpns: ClassVar[tuple[str, ...]] = ("wireguard/go",)

    def measure(self) -> Samples:
        """Both tunnels of a pair are kept, one is measured at a time."""
        without = (str(tools.require("culvert-probe", "run `make setup`")), "rootless", "--")
        found: dict[Figure, Samples] = defaultdict(Samples)
        for number, vpn in product(range(TUNNELS), VPNS):
            first = without if number % 2 else ()  # each is the older of the two in turn
            with kept(vpn, first) as older, kept(vpn, () if first else without) as newer:
                ours, peer = (older, newer) if first else (newer, older)
                for what, metric in METRICS.items():
                    with awake() if what == "rtt" else nullcontext():
                        samples = alternate(
                            partial(ours.measure, what),
                            partial(peer.measure, what),
                            ROUNDS,
                            spare=SPARE,
                        )
                    found[vpn, metric].ours.append(statistics.median(samples.ours))
                    found[vpn, metric].peer.append(statistics.median(samples.peer))
        return worst(found)


def worst(found: Mapping[Figure, Samples]) -> Samples:
    """Samples of the figure whose ratio is furthest from 1, with the details of all."""
    furthest = max(found.values(), key=lambda each: abs((each.ratio or 0.0) - 1))
    furthest.details = [
        {
            "vpn": vpn,
            "metric": metric,
            "without_root": statistics.median(each.ours),
            "with_root": statistics.median(each.peer),
            "ratio": each.ratio,
            "interval": each.interval,
        }
        for (vpn, metric), each in found.items()
    ]
    return furthest

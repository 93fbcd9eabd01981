"""The instrument's own round-trip time: no faster path can be measured here.

The same schedule, size and program as the measurement's, over the loopback of node a, in the same
trial. A round trip close to it is a figure of the node, not of the tunnel.
"""

from __future__ import annotations

import math

from culvert.measurements.parameters import Sampling
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.metrics import family
from culvert.probe.results import Floor, parse
from culvert.results import Metric, measured
from culvert.trial.session import Session

LONGEST_S = 0.5
FEWEST = 20
SLACK_S = 15
NAMES = ("p50", "p99", "max")
FLOOR_METRICS = family("noise_floor_{}_us", "us", "Round trip of the instrument alone", NAMES)
"""What ``floor_metrics`` returns."""


def noise_floor(
    session: Session,
    *,
    size: int,
    rate_pps: float,
    count: int,
    sampling: Sampling = Sampling.SCATTERED,
    spin_us: int = 0,
) -> Floor:
    """Measure it for half a second, but not with more than ``count`` probes.

    ``size`` is that of the IP packets in bytes; the rest is as the ``rtt`` task takes it.
    """
    probes = min(count, max(math.ceil(rate_pps * LONGEST_S), FEWEST))
    answer = session.a.call(
        "noise_floor",
        probes / rate_pps + SLACK_S,
        rate_pps=rate_pps,
        sampling=sampling,
        count=probes,
        payload_size=size - UDP_HEADERS,
        spin_us=spin_us,
        **session.marks,
    )
    return parse(Floor, answer)


def floor_metrics(found: Floor) -> list[Metric]:
    """Microseconds; empty if no probe was answered."""
    values = {f"noise_floor_{name}_us": found.us(name) for name in NAMES}
    return measured(FLOOR_METRICS, values)

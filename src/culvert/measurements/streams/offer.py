"""The time in which a stream's packets count as forwarded.

::

    sender    |<------- duration ------->|
    receiver       |<------- duration ------->|<- allowance ->|  backlog ...
              idle delay

A packet that leaves a queue after the end of its stream was not carried at the offered rate
(RFC 2544, section 26.1; draft-ietf-bmwg-mlrsearch, "Trial Forwarding Rate"). The receiver knows the
beginning and the idle delay from the packets themselves; the allowance covers what is no queue.
"""

from __future__ import annotations

from culvert.topology.link.impairment import Impairment

ALLOWANCE_S = 0.01
"""A receiver or a VPN that did not run at the end of a stream is no queue."""
ALLOWANCE_SHARE = 0.02
"""Of a longer stream: a queue of this share is within the precision of a rate."""


def allowance_s(duration_s: float, impairment: Impairment) -> float:
    """Seconds after a stream of this duration. The requested variation of the delay is no queue."""
    varying_ns = max(
        (way.jitter.longest_ns - way.jitter.least_ns if way.jitter else 0)
        + (way.delay_ns if way.reorder else 0)
        for way in impairment.ways
    )
    return max(ALLOWANCE_S, ALLOWANCE_SHARE * duration_s) + varying_ns / 1e9


def offer(duration_s: float, impairment: Impairment) -> dict[str, float]:
    """In the form of the requests of the probe's sinks."""
    return {"duration_s": duration_s, "allowance_s": allowance_s(duration_s, impairment)}

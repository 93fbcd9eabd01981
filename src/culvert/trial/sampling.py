"""The share of a link's packets that is captured. Pure."""

from __future__ import annotations

from culvert.topology.link.spec import LinkSpec

SAMPLED_PPS = 100
"""At least this many packets per second of a busy link with packets of MTU size; all if it carries
fewer. Capturing these has no relevant cost, and a small sample misses much."""

MISSED = 0.05
"""Probability with which a share of the stated size is missed."""


def found_share(packets: int) -> int:
    """One in so many is the smallest share of a link's packets of which a random sample of that
    size has at least one with 95 %.

    A share p is missed with (1 - p)^n, and p = 1 - 0.05^(1/n) is about 3/n.
    """
    return int(1 / (1 - MISSED ** (1 / packets))) if packets else 0


def one_in(wanted: int, link: LinkSpec) -> int:
    """One in ``wanted`` packets, or a larger share if the slower direction carries few."""
    ways = (link.impairment.a_to_b, link.impairment.b_to_a)
    rates_bps = [
        way.trace.mean_rate_bps if way.trace is not None else way.rate_on(link.rate_bps)
        for way in ways
    ]
    slowest_bps = min((rate for rate in rates_bps if rate is not None), default=None)
    if slowest_bps is None:
        return wanted
    return max(1, min(wanted, int(slowest_bps / (8 * link.mtu) / SAMPLED_PPS)))

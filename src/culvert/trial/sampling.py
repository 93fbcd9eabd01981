"""The share of a link's packets that is captured. Pure."""

from __future__ import annotations

from culvert.topology.link.spec import LinkSpec

SAMPLED_PPS = 100
"""At least this many packets per second of a busy link with packets of MTU size; all if it carries
fewer. Capturing these has no relevant cost, and an empty sample proves nothing."""


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

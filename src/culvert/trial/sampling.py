"""How many of the packets on a link are looked at. Pure."""

from __future__ import annotations

from culvert.topology.link.spec import LinkSpec

SAMPLED_PPS = 100
"""At least so many in a second of a busy link, of packets as long as the MTU; all if it carries
fewer. Looking at these costs nothing that matters, and a sample of none proves nothing."""


def one_in(wanted: int, link: LinkSpec) -> int:
    """One in ``wanted`` packets, or more of them where the slower direction carries few."""
    ways = (link.impairment.a_to_b, link.impairment.b_to_a)
    rates_bps = [
        way.trace.mean_rate_bps if way.trace is not None else way.rate_on(link.rate_bps)
        for way in ways
    ]
    slowest_bps = min((rate for rate in rates_bps if rate is not None), default=None)
    if slowest_bps is None:
        return wanted
    return max(1, min(wanted, int(slowest_bps / (8 * link.mtu) / SAMPLED_PPS)))

"""Several links in a row, combined into one for a path over them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.errors import UsageError
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec

_NOTHING = OneWay()


def along(links: Sequence[tuple[LinkSpec, bool]], name: str) -> LinkSpec:
    """The links of a path, each with whether it is crossed from left to right.

    The lowest rate and MTU count; delays add up, independent losses combine. Raises UsageError for
    other impairments on more than one link, because they cannot be combined.
    """
    first = links[0][0]
    mtu = min(link.mtu for link, _ in links)
    rates = [link.rate_bps for link, _ in links if link.rate_bps is not None]
    directions = []
    for towards_target in (True, False):
        ways = [
            link.impairment.a_to_b if forward is towards_target else link.impairment.b_to_a
            for link, forward in links
        ]
        directions.append(_combined(ways, name))
    return replace(
        first,
        rate_bps=min(rates, default=None),
        mtu=mtu,
        mtu_requested=any(link.mtu_requested for link, _ in links if link.mtu == mtu),
        offloads=any(link.offloads for link, _ in links),
        impairment=Impairment(*directions),
    )


def _combined(ways: Sequence[OneWay], name: str) -> OneWay:
    impaired = [way for way in ways if way != _NOTHING]
    if len(impaired) < 2:
        return impaired[0] if impaired else _NOTHING
    delay_ns, passing = 0, 1.0
    for way in impaired:
        if replace(way, delay_ns=0, loss=0.0) != _NOTHING or not isinstance(way.loss, float | int):
            raise UsageError(
                f"the links of path {name}",
                "several of them have impairments other than delay and independent loss",
                "give those to one link of the path",
            )
        delay_ns += way.delay_ns
        passing *= 1 - way.loss
    return OneWay(delay_ns=delay_ns, loss=1 - passing)

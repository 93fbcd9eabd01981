"""What the conditions of a link fix of its figures, each direction on its own. Pure.

::

    overtaken: a packet that does not skip the delay, while one of those behind it does

    sent      1 ── 2 ── 3 ── 4 ───────── one of the ``flying`` packets behind skips
    arrived   4, then 1, 2, 3
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from culvert.measurements.underlay.way import MEASURABLE_BPS, RATE_OF_SLOW_S, pace_pps
from culvert.proof.known import LATE_S, KnownPath
from culvert.proof.truth import Truth, exactly, rate, time
from culvert.proof.underlay import loss_interval, requested_loss
from culvert.topology.link.impairment import OneWay
from culvert.topology.link.jitter import SIGMAS


def way_truths(known: KnownPath, seconds: float) -> list[Truth]:
    """Of both directions, in which packets of the link's MTU are sent for so many seconds. They
    go beside a VPN: the link's rate bounds theirs with any."""
    if known.joins:
        return []
    return [
        replace(truth, labels={"direction": name})
        for name, upward in (("a to b", True), ("b to a", False))
        for truth in (
            *_bound(known, upward=upward),
            *(_of_direction(known, seconds, upward=upward) if known.bare else ()),
        )
    ]


def _bound(known: KnownPath, *, upward: bool) -> Iterator[Truth]:
    rate_bps = known.rate_bps(upward=upward)
    if rate_bps is not None and not known.way(upward=upward).duplicate:
        bound = rate_bps * (1 + LATE_S / RATE_OF_SLOW_S)
        yield Truth("delivered_rate_bps", None, bound=bound)


def _of_direction(known: KnownPath, seconds: float, *, upward: bool) -> Iterator[Truth]:
    way, rate_bps, size = known.way(upward=upward), known.rate_bps(upward=upward), known.link.mtu
    lost = requested_loss(way)
    if way.filters or way.codel or lost is None:
        return
    pps = pace_pps(way, rate_bps, size)
    packets = pps * seconds
    within = loss_interval(way, math.floor(packets))
    yield Truth("delivered_loss_ratio", lost, *within, f"requested, {packets:,.0f} packets")
    yield from _delays(known, way, packets * (1 - lost), upward=upward)
    yield from _repeated(way, packets * (1 - lost))
    yield from _out_of_order(way, packets, pps)
    if rate_bps and rate_bps <= MEASURABLE_BPS and not (way.duplicate or way.limit_packets or lost):
        yield rate("delivered_rate_bps", float(rate_bps), "the link's rate")


def _delays(known: KnownPath, way: OneWay, arrived: float, *, upward: bool) -> Iterator[Truth]:
    least_ns = known.one_way_ns(known.link.mtu, upward=upward)
    if known.plain:
        yield time("delivered_delay_ms", "ms", least_ns, "the delay and a transmission")
    elif way.jitter and way.jitter.reorders and not (way.reorder or way.jitter.hold_ns):
        # Values are drawn for each packet, and nothing but the rate makes one wait for another.
        low_ns, high_ns = way.jitter.median_within_ns(math.floor(arrived))
        middle_ns = (low_ns + high_ns) / 2
        late = time("delivered_delay_ms", "ms", least_ns + high_ns, "")
        ends = (way.delay_ns + low_ns) / 1e6, late.most
        words = f"the delay, and the median of {arrived:,.0f} values of jitter"
        yield Truth("delivered_delay_ms", (least_ns + middle_ns) / 1e6, *ends, words)


def _repeated(way: OneWay, arrived: float) -> Iterator[Truth]:
    if not way.duplicate:
        yield exactly("duplicate_packets", 0.0, "none is requested")
        return
    middle = way.duplicate * arrived
    margin = SIGMAS * math.sqrt(middle * (1 - way.duplicate)) + 1
    words = f"{way.duplicate:.2%} of {arrived:,.0f} packets"
    yield Truth("duplicate_packets", middle, max(middle - margin, 0.0), middle + margin, words)


def _out_of_order(way: OneWay, packets: float, pps: float) -> Iterator[Truth]:
    if way.jitter and way.jitter.reorders:
        return
    if not way.reorder:
        yield exactly("reordered_packets", 0.0, "none is requested")
        return
    flying = way.delay_ns / 1e9 * pps
    overtaken = [(1 - way.reorder) * (1 - (1 - way.reorder) ** n) for n in (flying - 1, flying + 1)]
    least, most = (packets * each for each in overtaken)
    # One packet that skips overtakes all that fly: so many are counted together.
    margin = SIGMAS * math.sqrt(most * max(flying, 1.0))
    words = f"{way.reorder:.2%} of {packets:,.0f} packets skip the delay"
    ends = max(least - margin, 0.0), min(most + margin, packets)
    yield Truth("reordered_packets", (least + most) / 2, *ends, words)

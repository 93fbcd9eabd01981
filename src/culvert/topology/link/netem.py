"""A direction of a link in netem's parameters and units (tc-netem(8)). Pure."""

from __future__ import annotations

from typing import Any

from culvert.errors import ImpairmentError
from culvert.topology.link.impairment import Bursts, OneWay
from culvert.topology.link.jitter import JitterShape

SMALLEST_FRAME_BYTES = 64
UNLIMITED_BPS = 10**10
"""Assumed rate of a link without a rate, to size the queue."""
MIN_LIMIT_PACKETS = 1_000
MAX_LIMIT_PACKETS = 10_000_000
NS_PER_S = 1_000_000_000
DISTRIBUTIONS = (JitterShape.UNIFORM, JitterShape.NORMAL)
"""Shapes with the same meaning in netem; its "pareto" also shortens delays."""
USE_THE_WIRE = 'write kind = "wire" for the link'


def options(one_way: OneWay, link_rate_bps: int | None) -> dict[str, Any]:
    """pyroute2's parameters: percentages, microseconds, packets. Others are
    passed to the ``tc`` program (``culvert.labs.link.netem``).

    Raises ImpairmentError for what netem cannot do.
    """
    if isinstance(one_way.loss, tuple):
        raise ImpairmentError("loss", "loss by list", "netem does not support it", USE_THE_WIRE)
    for requested, key, name in (
        (one_way.trace, "trace", "trace"),
        (one_way.codel, "queue", "queue by CoDel"),
        (one_way.blackout, "blackout", "blackout"),
        (one_way.drop_udp or None, "drop_udp", "drop_udp"),
        (one_way.drop_fragments or None, "drop_fragments", "drop_fragments"),
        (one_way.drop_size_and_above, "drop_size_and_above", "drop_size_and_above"),
    ):
        if requested is not None:
            raise ImpairmentError(key, name, "netem does not support it", USE_THE_WIRE)
    jitter = one_way.jitter
    if jitter is not None and (
        jitter.distribution not in DISTRIBUTIONS or jitter.hold_ns or not jitter.reorders
    ):
        raise ImpairmentError(
            "jitter",
            "this jitter",
            "netem draws evenly or normally for each packet, and changes the order of packets",
            "write reorders = true, or " + USE_THE_WIRE,
        )
    if one_way.per_super_packet:
        raise ImpairmentError(
            "decide", "decide per super-packet", "is a mode of the wire", USE_THE_WIRE
        )
    rate_bps = one_way.rate_on(link_rate_bps)
    spread_ns = jitter.spread_ns if jitter else 0
    chosen: dict[str, Any] = {
        "delay": one_way.delay_ns // 1000,
        "jitter": spread_ns // 1000,
        "loss": 0.0 if isinstance(one_way.loss, Bursts) else one_way.loss * 100,
        "duplicate": one_way.duplicate * 100,
        "limit": limit_packets(one_way, rate_bps),
    }
    if one_way.reorder:
        chosen["prob_reorder"] = one_way.reorder * 100
    if one_way.corrupt:
        chosen["prob_corrupt"] = one_way.corrupt * 100
    if rate_bps is not None:
        chosen["rate"] = rate_bps // 8
    return chosen


def limit_packets(one_way: OneWay, rate_bps: int | None) -> int:
    """Packets in transit at once, if all are small. netem's default of 1000 drops packets on a fast
    link with a delay, although no loss is requested. The queue is added."""
    on_its_way_ns = one_way.delay_ns + (one_way.jitter.spread_ns if one_way.jitter else 0)
    rate = rate_bps if rate_bps is not None else UNLIMITED_BPS
    packets = -(-rate * on_its_way_ns // (NS_PER_S * 8 * SMALLEST_FRAME_BYTES))
    queue = MIN_LIMIT_PACKETS
    if one_way.queue_bytes is not None:
        queue = max(1, one_way.queue_bytes // SMALLEST_FRAME_BYTES)
    if one_way.queue_packets is not None:
        queue = one_way.queue_packets
    return min(packets + queue, MAX_LIMIT_PACKETS)

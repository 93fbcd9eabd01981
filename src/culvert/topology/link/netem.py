"""A direction of a link in the words of ``tc`` for netem (tc-netem(8)). Pure."""

from __future__ import annotations

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


def options(one_way: OneWay, link_rate_bps: int | None) -> list[str]:
    """All but the rate. Raises ImpairmentError for what netem cannot do."""
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
    words = ["limit", str(limit_packets(one_way, one_way.rate_on(link_rate_bps)))]
    spread_us = jitter.spread_ns // 1000 if jitter else 0
    if one_way.delay_ns >= 1000 or spread_us:
        words += ["delay", f"{one_way.delay_ns // 1000}us"]
    if spread_us:
        words.append(f"{spread_us}us")
    if jitter is not None and jitter.distribution is JitterShape.NORMAL:
        words += ["distribution", "normal"]
    loss = one_way.loss
    if isinstance(loss, Bursts):  # p, r, 1-h, 1-k
        shares = (loss.to_bad, loss.to_good, loss.loss_in_bad, loss.loss_in_good)
        words += ["loss", "gemodel", *map(_per_cent, shares)]
    elif loss:
        words += ["loss", _per_cent(loss)]
    for word, share in (
        ("duplicate", one_way.duplicate),
        ("corrupt", one_way.corrupt),
        ("reorder", one_way.reorder),
    ):
        if share:
            words += [word, _per_cent(share)]
    return words


def _per_cent(share: float) -> str:
    return f"{100 * share}%"


def limit_packets(one_way: OneWay, rate_bps: int | None) -> int:
    """Packets in transit at once, if all are small. netem's default of 1000 drops packets on a fast
    link with a delay, although no loss is requested. The queue is added. A requested limit is
    netem's own."""
    if one_way.limit_packets is not None:
        return one_way.limit_packets
    on_its_way_ns = one_way.delay_ns + (one_way.jitter.spread_ns if one_way.jitter else 0)
    rate = rate_bps if rate_bps is not None else UNLIMITED_BPS
    packets = -(-rate * on_its_way_ns // (NS_PER_S * 8 * SMALLEST_FRAME_BYTES))
    queue = MIN_LIMIT_PACKETS
    if one_way.queue_bytes is not None:
        queue = max(1, one_way.queue_bytes // SMALLEST_FRAME_BYTES)
    if one_way.queue_packets is not None:
        queue = one_way.queue_packets
    return min(packets + queue, MAX_LIMIT_PACKETS)

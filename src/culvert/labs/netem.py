"""A veth pair whose packets the kernel's emulator impairs (tc-netem(8)).

netem decides about socket buffers, and with offloads on one of them may be 64 kB of packets: so a
link of this kind never has offloads. What it cannot do as it was asked is refused, not
approximated; the wire can do all of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from culvert.doctor import features
from culvert.errors import NotPossible, UsageError
from culvert.labs import veth
from culvert.labs.base import LinkSpec
from culvert.labs.impairment import Bursts, Distribution, OneWay
from culvert.labs.links import index_of

SMALLEST_FRAME_BYTES = 64
UNLIMITED_BPS = 10**10
"""What a link without a rate is taken to carry, to size the queue."""
MIN_LIMIT_PACKETS = 1_000
MAX_LIMIT_PACKETS = 10_000_000
NS_PER_S = 1_000_000_000
USE_THE_WIRE = 'use the link kind "wire"'


def connect(left: veth.End, right: veth.End, spec: LinkSpec) -> None:
    """Make the cable. Raises NotPossible without netem, UsageError for what netem cannot do."""
    asked = {left: spec.impairment.a_to_b, right: spec.impairment.b_to_a}
    if spec.offloads:
        raise UsageError(
            "offloads on a netem link",
            "netem would lose and delay super-packets of up to 64 kB as if they were one packet",
            "leave offloads out, or " + USE_THE_WIRE,
        )
    parameters = {end: options(one_way, spec.rate_bps) for end, one_way in asked.items()}
    if not features.has("netem"):
        raise NotPossible(
            "the link netem",
            "this kernel has no sch_netem",
            "modprobe sch_netem, or " + USE_THE_WIRE,
        )
    veth.connect(left, right, replace(spec, rate_bps=None))
    for end, chosen in parameters.items():
        _impair(end, chosen)


def options(one_way: OneWay, link_rate_bps: int | None) -> dict[str, Any]:
    """pyroute2's parameters: percentages, microseconds, packets.

    Raises UsageError for what netem, as pyroute2 speaks to it, cannot do.
    """
    if isinstance(one_way.loss, Bursts | tuple):
        raise UsageError("loss by bursts or by list", "netem cannot do it here", USE_THE_WIRE)
    jitter = one_way.jitter
    if jitter is not None and (
        jitter.distribution is not Distribution.UNIFORM or not jitter.reorders
    ):
        raise UsageError(
            "this jitter",
            "netem spreads it evenly and lets packets overtake each other",
            "write it so, or " + USE_THE_WIRE,
        )
    if one_way.per_super_packet:
        raise UsageError("per_super_packet", "is a mode of the wire", USE_THE_WIRE)
    rate_bps = one_way.rate_bps if one_way.rate_bps is not None else link_rate_bps
    spread_ns = jitter.spread_ns if jitter else 0
    chosen: dict[str, Any] = {
        "delay": one_way.delay_ns // 1000,
        "jitter": spread_ns // 1000,
        "loss": one_way.loss * 100,
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
    """Packets that are on their way at once, if all are small: netem's default of 1000 loses
    packets of a fast link with a delay, and nobody asked it to. A queue is added to it."""
    on_its_way_ns = one_way.delay_ns + (one_way.jitter.spread_ns if one_way.jitter else 0)
    rate = rate_bps if rate_bps is not None else UNLIMITED_BPS
    packets = -(-rate * on_its_way_ns // (NS_PER_S * 8 * SMALLEST_FRAME_BYTES))
    queue = MIN_LIMIT_PACKETS
    if one_way.queue_bytes is not None:
        queue = max(1, one_way.queue_bytes // SMALLEST_FRAME_BYTES)
    return min(packets + queue, MAX_LIMIT_PACKETS)


def _impair(end: veth.End, chosen: dict[str, Any]) -> None:
    def add(netlink: Any) -> None:
        index = index_of(netlink, end.device)
        netlink.tc("add", "netem", index=index, handle=0x10000, **chosen)

    end.namespace.netlink(add, f"netem on {end.device}")

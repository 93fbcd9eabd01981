"""The parameters of tc's token bucket filter that leave a rate exact.

The kernel counts Ethernet frames with their 14 bytes of header, without preamble, checksum and
gap. See tc-tbf(8) and net/sched/sch_tbf.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from culvert.labs.namespace.interfaces import index_of
from culvert.labs.namespace.thread import NamespaceThread
from culvert.topology.link.spec import ETHERNET_HEADER

BURST_S = 0.002
QUEUE_S = 0.020
MIN_BURST_FRAMES = 4
MIN_QUEUE_FRAMES = 32
MAX_RATE_BPS = 8 * (2**32 - 1)
"""pyroute2 encodes the rate in bytes per second with 32 bits."""


@dataclass(frozen=True)
class TokenBucket:
    """tbf's parameters, in bytes (and bytes per second)."""

    rate_bytes_per_s: int
    burst_bytes: int
    limit_bytes: int


def token_bucket(rate_bps: int, mtu: int) -> TokenBucket:
    """Parameters for a rate in bit/s on a link of that MTU.

    The burst is 2 ms at this rate: more than the delay of the kernel's timers, so that no tokens
    are lost and the rate is reached; short enough to add less than 0.05 % to the average over 5 s.
    The queue holds 20 ms, like that of a switch. At low rates both hold at least a few frames.
    """
    frame = mtu + ETHERNET_HEADER
    rate = rate_bps // 8
    burst = max(round(rate * BURST_S), MIN_BURST_FRAMES * frame)
    queue = max(round(rate * QUEUE_S), MIN_QUEUE_FRAMES * frame)
    return TokenBucket(rate, burst, burst + queue)


def limit(namespace: NamespaceThread, device: str, bucket: TokenBucket) -> None:
    """Add the bucket to the device's egress."""

    def add(netlink: Any) -> None:
        index = index_of(device)
        netlink.tc(
            "add",
            "tbf",
            index=index,
            handle=0x10000,
            rate=bucket.rate_bytes_per_s,
            burst=bucket.burst_bytes,
            limit=bucket.limit_bytes,
        )

    namespace.netlink(add, f"rate limit on {device}")

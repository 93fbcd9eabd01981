"""The parameters of tc's token bucket filter that leave a rate exact.

The kernel counts Ethernet frames with their 14 bytes of header, without preamble, checksum and
gap. See tc-tbf(8) and net/sched/sch_tbf.c.
"""

from __future__ import annotations

from dataclasses import dataclass

ETHERNET_HEADER_BYTES = 14
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
    frame = mtu + ETHERNET_HEADER_BYTES
    rate = rate_bps // 8
    burst = max(round(rate * BURST_S), MIN_BURST_FRAMES * frame)
    queue = max(round(rate * QUEUE_S), MIN_QUEUE_FRAMES * frame)
    return TokenBucket(rate, burst, burst + queue)

"""Which way a metric is better, and which metrics a comparison is about."""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase


class Direction(StrEnum):
    """Of a metric: what is better."""

    MORE = "more is better"
    LESS = "less is better"
    UNKNOWN = "neither is better"


_LESS = (
    "cpu_*",
    "core_*",
    "context_switches*",
    "memory_*",
    "node_cpu_*",
    "node_memory_*",
    "rtt_*",
    "*_rtt_*",
    "one_way_*",
    "delay_variation_*",
    "jitter_*",
    "*loss*",
    "lost_*",
    "probes_lost",
    "retransmit*",
    "total_ms",
    "handshake_*",
    "echo_attempts",
    "blocked_ms",
    "recovered_ms",
    "tunnel_up_s",
    "black_hole_*",
    "fragments_*",
    "duplicate_packets",
    "reordered_packets",
)
_MORE = (
    "goodput_*",
    "received_*",
    "ndr_*",
    "pdr_*",
    "load_*_bps",
    "largest_*_bytes",
    "unfragmented_*_bytes",
    "mss_*",
)
_NEITHER = ("ceiling_*", "offered_*", "*_width_ratio", "cpu_steal_percent", "cpu_probe_*")
"""The generator's and the machine's, not the VPN's."""

KEY = (
    "goodput_bps",
    "cpu_s_per_gb",
    "cpu_vpn_s_per_gb",
    "rtt_p50_us",
    "rtt_p99_us",
    "rtt_loaded_p50_us",
    "rtt_loaded_p99_us",
    "ndr_pps",
    "pdr_pps",
    "total_ms",
    "handshake_ms",
    "blocked_ms",
    "recovered_ms",
    "unfragmented_a_to_b_bytes",
    "unfragmented_b_to_a_bytes",
)
"""What is compared unless asked otherwise: few, because each more costs all of them power."""


def direction_of(metric: str) -> Direction:
    """What is better, by the metric's name."""
    for names, direction in (
        (_NEITHER, Direction.UNKNOWN),
        (_LESS, Direction.LESS),
        (_MORE, Direction.MORE),
    ):
        if any(fnmatchcase(metric, name) for name in names):
            return direction
    return Direction.UNKNOWN

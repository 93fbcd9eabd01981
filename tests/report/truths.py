"""What VPNs are like, and what a trial of one finds: figures that scatter around the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

TCP = {"congestion_control": "cubic", "duration": 2.5, "warmup": 0.5, "write_size": 131072}
UDP_SMALL = {"duration": 2.0, "packet_size": 64, "rate": None, "warmup": 0.2}
UDP_LARGE = {"duration": 2.0, "packet_size": "max", "rate": None, "warmup": 0.2}
RTT = {"packet_size": 64, "probes": 2000, "protocol": "udp", "rate": 1000}
INITIATION = {"cycles": 5}

MEASUREMENTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("tcp", TCP),
    ("udp", UDP_SMALL),
    ("udp", UDP_LARGE),
    ("rtt", RTT),
    ("initiation", INITIATION),
)


Figure = tuple[str, str, float, dict[str, str]]
"""Metric, unit, value, labels."""


@dataclass(frozen=True)
class Truth:
    """What a VPN is like."""

    version: str
    goodput_bps: float
    small_pps: float
    rtt_us: float
    tail: float
    cpu_s_per_gb: float
    vpn_share: float
    initiation_ms: float
    processes: tuple[str, ...] = ()
    broken: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """Measurement -> status, reason, remedy for all of its trials."""


VPNS: dict[str, Truth] = {
    "none": Truth("", 9.6e9, 310e3, 21, 0.35, 1.4, 0.0, 0.9),
    "wireguard/go": Truth(
        "0.0.20250522", 1.32e9, 132e3, 96, 0.6, 11.5, 0.72, 11.4, ("wireguard-go",)
    ),
    "openvpn/aes-256-gcm": Truth("2.6.14", 0.71e9, 58e3, 74, 0.7, 16.9, 0.61, 512, ("openvpn",)),
    "strongswan/esp-aes256gcm": Truth(
        "6.0.1", 0.94e9, 84e3, 63, 0.5, 14.2, 0.55, 33.8, ("charon-systemd",)
    ),
}


def metrics_of(
    rng: np.random.Generator,
    vpn: str,
    truth: Truth,
    measurement: str,
    parameters: Mapping[str, Any],
    scale: float,
    block: int,
) -> list[Figure]:
    weather = 1 + 0.03 * np.sin(block)

    def near(value: float, spread: float = 0.02) -> float:
        return float(value * weather * rng.normal(1, spread))

    if measurement == "tcp":
        goodput = near(truth.goodput_bps * scale)
        return [
            ("goodput_bps", "bit/s", goodput, {}),
            ("retransmit_ratio", "1", abs(near(0.0004, 0.5)), {}),
            ("tcp_rtt_p50_us", "us", near(truth.rtt_us * 8), {}),
            ("cwnd_p50_segments", "segments", round(near(400)), {}),
            *_cpu(rng, vpn, truth, goodput, 1.0),
        ]
    if measurement == "udp":
        small = parameters["packet_size"] != "max"
        size = 36 if small else 1392
        received = near(truth.small_pps if small else truth.goodput_bps * 0.8 / 8 / size) * scale
        offered = max(near(420e3 if small else 360e3), received * 1.02)
        lost = offered - received
        goodput = received * size * 8
        shares = rng.dirichlet([2, 1, 8, 0.2] if vpn != "none" else [9, 0.5, 0.01, 0.4])
        places = ("lost_in_socket", "lost_in_qdisc", "lost_in_tunnel", "lost_on_link")
        return [
            ("packet_size_bytes", "bytes", size + 28, {}),
            ("offered_bps", "bit/s", offered * size * 8, {}),
            ("goodput_bps", "bit/s", goodput, {}),
            ("offered_pps", "packets/s", offered, {}),
            ("received_pps", "packets/s", received, {}),
            ("loss_ratio", "1", lost / offered, {}),
            *(
                (place, "packets", float(round(lost * share * 2)), {})
                for place, share in zip(places, shares, strict=True)
            ),
            ("lost_unattributed", "packets", 3.0, {}),
            *_cpu(rng, vpn, truth, goodput, 14 if small else 1.3),
        ]
    if measurement == "rtt":
        return [
            ("rtt_p50_us", "us", near(truth.rtt_us), {}),
            ("loss_ratio", "1", 0.0, {}),
        ]
    handshake: list[Figure] = (
        [] if vpn == "none" else [("handshake_ms", "ms", near(truth.initiation_ms / 6), {})]
    )
    return [
        ("total_ms", "ms", near(truth.initiation_ms, 0.08), {}),
        *handshake,
        *([] if vpn == "none" else [("handshake_packets", "packets", 4.0, {})]),
    ]


def _cpu(
    rng: np.random.Generator, vpn: str, truth: Truth, goodput: float, factor: float
) -> list[Figure]:
    per_gb = float(truth.cpu_s_per_gb * factor * rng.normal(1, 0.02))
    total = min(200.0, per_gb * goodput / 8e9 * 100)
    softirq = total * (0.12 if vpn != "none" else 0.38)
    result: list[Figure] = [
        ("cpu_s_per_gb", "s/GB", per_gb, {}),
        ("cpu_vpn_s_per_gb", "s/GB", per_gb * truth.vpn_share, {}),
        ("cpu_probe_s_per_gb", "s/GB", per_gb * (0.15 if vpn != "none" else 0.5), {}),
        ("cpu_percent", "%", total, {}),
        ("cpu_user_percent", "%", total * truth.vpn_share * 0.6, {}),
        ("cpu_system_percent", "%", total - softirq - total * truth.vpn_share * 0.6, {}),
        ("cpu_softirq_percent", "%", softirq, {}),
    ]
    for node in ("a", "b"):
        for process in truth.processes:
            labels = {"node": node, "process": process}
            seconds = float(rng.normal(1.2, 0.05))
            result += [
                ("cpu_process_s", "s", seconds, labels),
                ("memory_peak_bytes", "bytes", 21e6, labels),
                ("context_switches", "switches", 9000.0, labels | {"kind": "voluntary"}),
                *(
                    ("cpu_thread_s", "s", seconds / 3, labels | {"thread": f"{process}:{tid}"})
                    for tid in rng.integers(1000, 99999, 3)
                ),
            ]
        result.append(
            ("cpu_kernel_thread_s", "s", 0.02, {"node": "machine", "process": "ksoftirqd/0"})
        )
    return result


def round_trips(rng: np.random.Generator, truth: Truth, found: list[Figure]) -> str:
    """2,000 round trips; their percentiles join ``found``."""
    histogram = HdrHistogram(1, 60_000_000_000, 3)
    middle = found[0][2] * 1000
    body = middle * rng.lognormal(0, 0.08, 2000)
    tail = np.where(rng.random(2000) < 0.03, rng.pareto(2.2, 2000) * truth.tail * middle, 0)
    values = body + tail
    for value in values:
        histogram.record_value(int(value))
    for name, percent in (("p90", 90), ("p99", 99), ("p99_9", 99.9), ("p99_99", 99.99)):
        found.append((f"rtt_{name}_us", "us", float(np.percentile(values, percent)) / 1e3, {}))
    encoded = histogram.encode()
    return encoded.decode() if isinstance(encoded, bytes) else str(encoded)


def cycles(
    rng: np.random.Generator,
    truth: Truth,
    trial: int,
    found: list[Figure],
) -> list[dict[str, Any]]:
    return [
        {
            "trial": trial,
            "name": metric,
            "unit": "ms",
            "labels": "{}",
            "t_ns": list(range(5)),
            "value": (value * rng.normal(1, 0.06, 5)).tolist(),
        }
        for metric, _, value, _ in found
        if metric in ("total_ms", "handshake_ms")
    ]

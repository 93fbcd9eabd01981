"""A seeded run that looks like a real one: frames in the journal's form, made from a model.

Each VPN has a true goodput, latency and cost; trials scatter around them; some are invalid, failed
or unsupported. Nothing here was measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from hdrh.histogram import HdrHistogram

from culvert.journal.columns import ROWS_SCHEMA
from culvert.report.model import HISTOGRAMS_SCHEMA, TRIALS_SCHEMA

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

NASTY = "<script>alert(1)</script>\"'&\u2028</script><!-- ünïcödé \U0001f6a2 =cmd|' /C calc'!A0"


@dataclass
class Run:
    """What ``write_report`` takes."""

    run: dict[str, Any]
    rows: pl.DataFrame
    trials: pl.DataFrame
    histograms: pl.DataFrame
    series: pl.DataFrame


def make_run(
    *,
    vpns: Mapping[str, Truth] | None = None,
    blocks: int = 5,
    warmups: int = 0,
    conditions: tuple[str, ...] = ("clean",),
    measurements: tuple[tuple[str, Mapping[str, Any]], ...] = MEASUREMENTS,
    faults: bool = True,
    seed: int = 1,
    run: Mapping[str, Any] | None = None,
) -> Run:
    """Simulate a study; ``faults`` breaks a few single trials."""
    vpns = VPNS if vpns is None else vpns
    rng = np.random.default_rng(seed)
    cells = [(v, c, m, p) for v in vpns for c in conditions for m, p in measurements]
    trials: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    histograms: list[dict[str, Any]] = []
    series: list[dict[str, Any]] = []
    for block in range(1 - warmups, blocks + 1):
        for position, index in enumerate(rng.permutation(len(cells))):
            vpn, condition, measurement, parameters = cells[index]
            number = len(trials) + 1
            status, reason, remedy = vpns[vpn].broken.get(measurement, ("ok", "", ""))
            if faults and status == "ok" and number in (17, 58):
                status, reason, remedy = _FAULTS[number]
            text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
            trial = {
                "trial": number,
                "block": block,
                "position": position,
                "vpn": vpn,
                "version": vpns[vpn].version,
                "condition": condition,
                "measurement": measurement,
                "parameters": text,
                "status": status,
                "reason": reason or None,
                "remedy": remedy or None,
                "started_at": f"2026-11-20T10:{number // 60 % 60:02d}:{number % 60:02d}+00:00",
                "duration_s": 2.9 + float(rng.uniform(0, 0.3)),
                "measuring_s": 2.1,
                "evidence": json.dumps(_evidence(vpn, status, reason, remedy)),
            }
            trials.append(trial)
            common = {key: trial[key] for key in ROWS_SCHEMA if key in trial}
            common["study"] = "quick"
            found: list[tuple[str, str, float, dict[str, str]]] = []
            if status in ("ok", "invalid"):
                truth = replace(vpns[vpn])
                scale = 0.55 if condition == "lossy" else 1.0
                found = _metrics(rng, vpn, truth, measurement, parameters, scale, block)
                if measurement == "rtt":
                    hdr = _histogram(rng, truth, found)
                    histograms.append(
                        {
                            "trial": number,
                            "name": "rtt_ns",
                            "unit": "ns",
                            "labels": "{}",
                            "hdr_v2": hdr,
                        }
                    )
                if measurement == "initiation":
                    series += _cycles(rng, truth, number, found)
            for metric, unit, value, labels in found or [("", "", float("nan"), {})]:
                rows.append(
                    common
                    | {
                        "metric": metric or None,
                        "labels": json.dumps(labels, sort_keys=True, separators=(",", ":")),
                        "unit": unit or None,
                        "value": value if metric else None,
                    }
                )
    return Run(
        dict(RUN if run is None else run),
        pl.DataFrame(rows, schema=ROWS_SCHEMA),
        pl.DataFrame(trials, schema=TRIALS_SCHEMA),
        pl.DataFrame(histograms, schema=HISTOGRAMS_SCHEMA),
        pl.DataFrame(
            series,
            schema={
                "trial": pl.Int64,
                "name": pl.String,
                "unit": pl.String,
                "labels": pl.String,
                "t_ns": pl.List(pl.Int64),
                "value": pl.List(pl.Float64),
            },
        ),
    )


def nasty_run() -> Run:
    """Every text that a study, a machine or a program can choose is hostile."""
    vpns = {
        "none": VPNS["none"],
        f"evil/{NASTY}": replace(
            VPNS["wireguard/go"],
            version=NASTY,
            processes=(NASTY,),
            broken={"udp": ("failed", NASTY, NASTY)},
        ),
    }
    run = dict(RUN) | {
        "study": NASTY,
        "title": NASTY,
        "toml": f'name = "{NASTY}"',
        "lab": NASTY,
        "environment": {NASTY: {NASTY: [NASTY, {"deep": NASTY}]}},
        "installs": [
            {"vpn": NASTY, "role": NASTY, "duration_s": 1.0, "changed": True, "version": NASTY}
        ],
    }
    return make_run(vpns=vpns, conditions=(NASTY,), run=run)


def _metrics(
    rng: np.random.Generator,
    vpn: str,
    truth: Truth,
    measurement: str,
    parameters: Mapping[str, Any],
    scale: float,
    block: int,
) -> list[tuple[str, str, float, dict[str, str]]]:
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
    handshake: list[tuple[str, str, float, dict[str, str]]] = (
        [] if vpn == "none" else [("handshake_ms", "ms", near(truth.initiation_ms / 6), {})]
    )
    return [
        ("total_ms", "ms", near(truth.initiation_ms, 0.08), {}),
        *handshake,
        *([] if vpn == "none" else [("handshake_packets", "packets", 4.0, {})]),
    ]


def _cpu(
    rng: np.random.Generator, vpn: str, truth: Truth, goodput: float, factor: float
) -> list[tuple[str, str, float, dict[str, str]]]:
    per_gb = float(truth.cpu_s_per_gb * factor * rng.normal(1, 0.02))
    total = min(200.0, per_gb * goodput / 8e9 * 100)
    softirq = total * (0.12 if vpn != "none" else 0.38)
    result: list[tuple[str, str, float, dict[str, str]]] = [
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


def _histogram(
    rng: np.random.Generator, truth: Truth, found: list[tuple[str, str, float, dict[str, str]]]
) -> str:
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


def _cycles(
    rng: np.random.Generator,
    truth: Truth,
    trial: int,
    found: list[tuple[str, str, float, dict[str, str]]],
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


def _evidence(vpn: str, status: str, reason: str, remedy: str) -> dict[str, Any]:
    if status in ("failed", "unsupported"):
        return {}
    passed = status == "ok"
    return {
        "proved": passed,
        "underlay": {"a": _underlay((0,)), "b": _underlay((1,))},
        "vpn": {"cipher": "AES-256-GCM", "made for": vpn} if vpn != "none" else {},
        "checks": [
            {
                "name": "data path",
                "passed": True,
                "detail": f"packets are handled in user space on a, user space on b; {vpn}",
                "remedy": "",
                "figures": {"a": "user space", "b": "user space"},
            },
            {
                "name": "no clear text on the underlay (a to b)",
                "passed": passed,
                "detail": "the canary was in none of 2811 captured packets" if passed else reason,
                "remedy": remedy,
                "figures": {"packets": 2811, "canary_hits": 0 if passed else 12},
            },
            {
                "name": "bytes on the link reconcile (a to b)",
                "passed": True,
                "detail": "the link carried 412,308,112 bytes; between 411,9 and 412,6 MB expected",
                "remedy": "",
                "figures": {"outer_bytes": 412308112},
            },
        ],
    }


def _underlay(cpus: tuple[int, ...]) -> dict[str, Any]:
    return {
        "cpus": list(cpus),
        "underlay": {
            "device": "u0",
            "mtu": 1500,
            "queueing": ["noqueue"],
            "offloads_on": [],
            "checksum_offload": True,
        },
        "sysctls": {"net.ipv4.tcp_congestion_control": "bbr", "net.ipv4.tcp_none": None},
    }


_FAULTS = {
    17: (
        "invalid",
        "bytes on the link do not reconcile: 212 packets went around the tunnel",
        "look at the routes: something is more specific than the tunnel's",
    ),
    58: (
        "failed",
        "the VPN's process on node b died in the middle of the trial (signal 9)",
        "see its last lines in the log; run again with --resume",
    ),
}

STUDY = """name = "quick"
title = "Which VPN, on this machine, in five minutes?"
vpns = ["none", "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm"]

[lab]
topology = "pair"
link = { kind = "veth", mtu = 1500 }

[[condition]]
name = "clean"

[[measurement]]
kind = "tcp"
duration = "2.5s"

[[measurement]]
kind = "udp"
packet_size = [64, "max"]
duration = "2s"

[plan]
order = "random"
seed = 1
blocks = 5
"""

RUN: dict[str, Any] = {
    "study": "quick",
    "title": "Which VPN, on this machine, in five minutes?",
    "toml": STUDY,
    "seed": 1,
    "culvert_version": "0.1.0",
    "lab": "netns",
    "started_at": "2026-11-20T10:00:00+00:00",
    "ended_at": "2026-11-20T10:04:41+00:00",
    "environment": {
        "kernel": {"release": "6.12.48", "architecture": "x86_64", "clocksource": "tsc"},
        "distribution": {"name": "Debian GNU/Linux 12 (bookworm)"},
        "cpu": {
            "model": "Intel(R) Xeon(R) Processor",
            "cores": 2,
            "threads": 2,
            "frequency": {"driver": None, "governors": ["performance"], "boost": True},
            "crypto_flags": {"aes": True, "avx512f": True, "vaes": True},
            "mitigations": {"retbleed": "Vulnerable", "spectre_v2": "Mitigation: Retpolines"},
        },
        "memory": {"total_bytes": 25276510208},
        "virtualisation": {"guest": True, "hypervisor": "kvm"},
        "network": {
            "tcp_congestion_control": "bbr",
            "tcp_congestion_controls": ["bbr", "cubic", "reno"],
            "rmem_max_bytes": 4194304,
            "default_qdisc": "pfifo_fast",
        },
        "software": {"culvert": "0.1.0", "python": "3.11.7", "libcrypto": "OpenSSL 3.0.19"},
        "load": {"average_1min": 2.9},
    },
    "installs": [
        {
            "vpn": "openvpn/aes-256-gcm",
            "role": "openvpn",
            "duration_s": 7.2,
            "changed": True,
            "version": "2.6.14",
        },
        {
            "vpn": "wireguard/go",
            "role": "wireguard",
            "duration_s": 31.5,
            "changed": True,
            "version": "0.0.20250522",
        },
        {
            "vpn": "strongswan/esp-aes256gcm",
            "role": "strongswan",
            "duration_s": 12.9,
            "changed": False,
            "version": "6.0.1",
        },
    ],
}

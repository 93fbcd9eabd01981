"""A journal of many trials that nobody measured, to see what analysing one costs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from culvert.journal.journal import Journal
from culvert.journal.record import RunHead, TrialRecord
from culvert.results import Metric, Status

VPNS = ("none", "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm", "vxlan")
CONDITIONS = ("clean", "lossy", "far", "slow")
MEASUREMENTS = {
    "tcp": ("goodput_bps", "cpu_s_per_gb", "retransmissions", "rtt_p50_us"),
    "udp": ("goodput_bps", "cpu_s_per_gb", "loss_ratio", "jitter_us"),
    "rtt": ("rtt_p50_us", "rtt_p99_us", "loss_ratio", "cpu_percent"),
    "initiation": ("total_ms", "handshake_ms", "cpu_busy_s", "packets"),
    "mtu": ("largest_bytes", "probes", "cpu_busy_s", "duration_s"),
}
_HEAD = RunHead(
    study="long",
    title="A long study",
    toml='name = "long"\n',
    canonical='{"name":"long"}',
    digest="0" * 64,
    seed=1,
    lab="netns",
    culvert_version="0",
    environment={"kernel": {"release": "6"}},
)
_EVIDENCE = {
    "proved": True,
    "checks": [
        {"name": f"check {number}", "passed": True, "detail": "all as it should be " * 4}
        for number in range(6)
    ],
}


def write(directory: Path, blocks: int) -> int:
    """Write a journal of 100 cells; return how many trials it holds."""
    with Journal.create(directory, _HEAD) as journal:
        count = journal.record_all(_trials(blocks))
        journal.finish("all blocks are measured")
    return count


def _trials(blocks: int) -> Iterator[TrialRecord]:
    cells = [(v, c, m) for v in VPNS for c in CONDITIONS for m in MEASUREMENTS]
    rng = np.random.default_rng(1)
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    for block in range(1, blocks + 1):
        for position, (vpn, condition, measurement) in enumerate(cells, start=1):
            level = 100 + len(vpn) + len(condition)
            noise = rng.lognormal(0, 0.02, len(MEASUREMENTS[measurement]))
            yield TrialRecord(
                block=block,
                position=position,
                cell_key=f"{vpn}|{condition}|{measurement}",
                vpn=vpn,
                condition=condition,
                measurement=measurement,
                parameters='{"duration":"5s"}',
                status=Status.OK,
                started_at=begun + timedelta(seconds=5 * position),
                duration_s=5.0,
                measuring_s=4.5,
                version="1",
                evidence=_EVIDENCE,
                metrics=[
                    Metric(name, "1", float(level * factor))
                    for name, factor in zip(MEASUREMENTS[measurement], noise, strict=True)
                ],
            )

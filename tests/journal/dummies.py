"""Runs and trials that nobody measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from hdrh.histogram import HdrHistogram

from culvert.journal.record import RunHead, TrialRecord
from culvert.results import Histogram, Metric, Series, Status

HEAD = RunHead(
    study="s",
    title="A study",
    toml='name = "s"\n',
    canonical='{"name":"s","plan":{"seed":1}}',
    digest="d" * 64,
    seed=1,
    lab="netns",
    culvert_version="0.1.0",
    environment={"kernel": "6.1", "load": [0.5, float("nan")]},
)
WHEN = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def encoded(values: Sequence[int], *, lowest: int = 1, digits: int = 3) -> str:
    """A histogram of values up to 60 s, by another implementation than ours."""
    histogram = HdrHistogram(lowest, 60_000_000_000, digits)
    for value in values:
        histogram.record_value(value)
    return str(histogram.encode().decode())


def trial(number: int) -> TrialRecord:
    """The trial of that number (from 0); its content follows from the number."""
    return TrialRecord(
        block=number // 4 + 1,
        position=number % 4 + 1,
        cell_key=f"cell{number % 4}",
        vpn=("none", "wireguard/go", "openvpn/aes-256-gcm", "x")[number % 4],
        condition="clean",
        measurement="udp",
        parameters='{"packet_size":64}',
        status=Status.OK,
        started_at=WHEN,
        duration_s=2.5 + number,
        measuring_s=2.0,
        version="1.2",
        evidence={"proved": True, "n": number},
        metrics=[
            Metric("goodput_bps", "bit/s", 1e9 / (number + 3)),
            Metric("cpu_process_s", "s", 0.1 * number, {"node": "a", "process": "é"}),
        ],
        series=[Series("received", "bytes", [0, 10**9, number], [0.5, -1e18, number / 7])],
        histograms=[Histogram("rtt_ns", "ns", encoded([1000, 2000 + number]))],
    )


def failed(number: int) -> TrialRecord:
    return replace(
        trial(number),
        status=Status.FAILED,
        reason="it died",
        remedy="look",
        metrics=[],
        series=[],
        histograms=[],
    )

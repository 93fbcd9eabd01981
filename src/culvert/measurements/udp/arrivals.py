"""How packets arrived: delay, delay variation, and runs of losses, over time and in total."""

from __future__ import annotations

from collections.abc import Callable

from culvert.metrics import Better, MetricSpec, family
from culvert.probe.results import Result, UdpInterval, UdpSunk
from culvert.results import Histogram, Metric, Series, measured

ARRIVAL_METRICS = (
    MetricSpec("duplicate_packets", "packets", "Packets that arrived twice", Better.LESS),
    MetricSpec("reordered_packets", "packets", "Packets out of order", Better.LESS),
    MetricSpec("reordered_ratio", "1", "Share of packets out of order", Better.LESS),
    MetricSpec("reordering_extent_mean", "packets", "Extent of reordering, mean", Better.LESS),
    MetricSpec("reordering_extent_max", "packets", "Extent of reordering, greatest", Better.LESS),
    MetricSpec("loss_runs", "runs", "Runs of lost packets", Better.LESS),
    MetricSpec("longest_loss_run", "packets", "Longest run of lost packets", Better.LESS),
    MetricSpec("mean_loss_run", "packets", "Mean run of lost packets", Better.LESS),
    MetricSpec("jitter_us", "us", "Jitter", Better.LESS),
    *family(
        "one_way_{}_us", "us", "One-way delay", ("min", "p50", "p99", "max"), Better.LESS, ways=1
    ),
    *family(
        "delay_variation_{}_us",
        "us",
        "Delay above the least",
        ("p50", "p99", "p99_9", "max"),
        Better.LESS,
    ),
    *family(
        "ipdv_{}_us", "us", "Difference of two delays in a row", ("p50", "p99", "max"), Better.LESS
    ),
)
"""What ``arrival_metrics`` returns."""


def arrival_metrics(sunk: UdpSunk) -> list[Metric]:
    """The receiver's figures; those that it could not measure are left out.

    One-way delay needs one clock: sender and receiver on one machine. Its variation does not.
    """
    extent = sunk.reordering
    values = {
        "duplicate_packets": sunk.duplicates,
        "reordered_packets": sunk.reordered,
        "reordered_ratio": sunk.reordered / max(sunk.unique, 1),
        "loss_runs": sunk.loss_runs.runs,
        "longest_loss_run": sunk.loss_runs.longest,
        "mean_loss_run": sunk.loss_runs.mean,
        "reordering_extent_mean": extent.extent_mean,
        "reordering_extent_max": None if extent.extent_mean is None else extent.extent_max or 0,
        "jitter_us": _us(sunk.jitter_ns),
        **_family("one_way_{}_us", sunk.one_way, "{}_ns"),
        **_family("delay_variation_{}_us", sunk.pdv, "{}_ns"),
        **_family("ipdv_{}_us", sunk.ipdv, "{}_abs_ns"),
    }
    return measured(ARRIVAL_METRICS, values)


def _family(metric: str, answer: Result | None, field: str) -> dict[str, float | None]:
    """The statistics that an answer has; of none, nothing."""
    return {
        metric.format(name): _us(getattr(answer, field.format(name), None))
        for name in ("min", "p50", "p99", "p99_9", "max")
    }


def arrival_series(sunk: UdpSunk) -> list[Series]:
    """Each interval's figures; those that no interval has are left out."""
    figures: list[tuple[str, str, Callable[[UdpInterval], float | None]]] = [
        ("received_bytes", "bytes", lambda one: one.bytes),
        ("received_packets", "packets", lambda one: one.packets),
        ("lost_packets", "packets", lambda one: one.lost),
        ("duplicate_packets", "packets", lambda one: one.duplicates),
        ("reordered_packets", "packets", lambda one: one.reordered),
        ("socket_drops", "packets", lambda one: one.socket_drops),
        ("jitter_us", "us", lambda one: _us(one.jitter_ns)),
    ]
    if sunk.one_way is not None:  # with two clocks a transit time contains their difference
        figures += [
            ("transit_mean_us", "us", lambda one: _us(one.transit_mean_ns)),
            ("transit_max_us", "us", lambda one: _us(one.transit_max_ns)),
        ]
    found = []
    for name, unit, value in figures:
        points = [(one.t_ns, at) for one in sunk.intervals if (at := value(one)) is not None]
        if points or name == "received_bytes":
            found.append(Series.of(name, unit, points))
    return found


def arrival_histograms(sunk: UdpSunk) -> list[Histogram]:
    """All one-way delays; none with two clocks."""
    return Histogram.all(one_way_ns=sunk.one_way)


def _us(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e3

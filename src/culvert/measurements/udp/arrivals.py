"""How packets arrived: delay, delay variation, and runs of losses, over time and in total."""

from __future__ import annotations

from collections.abc import Callable

from culvert.metrics import Better, MetricSpec, family
from culvert.probe.results import UdpInterval, UdpSunk
from culvert.results import Histogram, Metric, Series

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
    *family("one_way_{}_us", "us", "One-way delay", ("min", "p50", "p99", "max"), Better.LESS),
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
    found = [
        Metric("duplicate_packets", "packets", sunk.duplicates),
        Metric("reordered_packets", "packets", sunk.reordered),
        Metric("reordered_ratio", "1", sunk.reordered / max(sunk.unique, 1)),
        Metric("loss_runs", "runs", sunk.loss_runs.runs),
        Metric("longest_loss_run", "packets", sunk.loss_runs.longest),
    ]
    if sunk.loss_runs.mean is not None:
        found.append(Metric("mean_loss_run", "packets", sunk.loss_runs.mean))
    if sunk.reordering.extent_mean is not None:
        found += [
            Metric("reordering_extent_mean", "packets", sunk.reordering.extent_mean),
            Metric("reordering_extent_max", "packets", sunk.reordering.extent_max or 0),
        ]
    if sunk.jitter_ns is not None:
        found.append(Metric("jitter_us", "us", sunk.jitter_ns / 1e3))
    if sunk.one_way is not None:
        found += [
            Metric(f"one_way_{name}_us", "us", getattr(sunk.one_way, f"{name}_ns") / 1e3)
            for name in ("min", "p50", "p99", "max")
        ]
    if sunk.pdv is not None:
        found += [
            Metric(f"delay_variation_{name}_us", "us", getattr(sunk.pdv, f"{name}_ns") / 1e3)
            for name in ("p50", "p99", "p99_9", "max")
        ]
    if sunk.ipdv is not None:
        found += [
            Metric("ipdv_p50_us", "us", sunk.ipdv.p50_abs_ns / 1e3),
            Metric("ipdv_p99_us", "us", sunk.ipdv.p99_abs_ns / 1e3),
            Metric("ipdv_max_us", "us", sunk.ipdv.max_abs_ns / 1e3),
        ]
    return found


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
            found.append(Series(name, unit, [t for t, _ in points], [v for _, v in points]))
    return found


def arrival_histograms(sunk: UdpSunk) -> list[Histogram]:
    """All one-way delays; none with two clocks."""
    if sunk.one_way is None or sunk.one_way.histogram is None:
        return []
    return [Histogram("one_way_ns", "ns", sunk.one_way.histogram)]


def _us(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e3

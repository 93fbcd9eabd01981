"""Requested and delivered impairments of each link, measured by the probe on the underlay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from culvert.analysis.latency import EMPTY, LatencyDistribution, decode
from culvert.journal.verify import MOST_NUMBER
from culvert.json_text import read_json
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import grouped, scale_for

KIND = "underlay"
HISTOGRAM = "one_way_delay_ns"
DIRECTIONS = ("a to b", "b to a")
BARS = 24
_NONE = "\u2013"


@dataclass(frozen=True)
class DelayBar:
    """Delays from ``low`` on, as text; ``share`` of the largest bar, from 0 to 1."""

    low: str
    share: float
    packets: int


@dataclass(frozen=True)
class DeliveredView:
    """One condition. ``verdict``: in how many blocks the link delivered what was requested."""

    condition: str
    verdict: str
    agrees: bool
    per_super_packet: bool
    table: FigureTable
    delays: tuple[tuple[str, tuple[DelayBar, ...]], ...]
    """By direction, from the shortest to the longest."""


def delivered_views(data: Data) -> list[DeliveredView]:
    """Every condition with a verified underlay, in the order of the run."""
    trials = data.trials.filter(pl.col("measurement") == KIND)
    conditions = trials["condition"].unique(maintain_order=True).to_list()
    return [
        _view(data, str(name), trials.filter(pl.col("condition") == name)) for name in conditions
    ]


def decided_per_super_packet(data: Data) -> tuple[str, ...]:
    """Conditions in which the link treated a super-packet as one packet: an artefact of the lab."""
    rows = data.rows.filter(
        pl.col("measurement") == KIND, pl.col("metric") == "per_super_packet", pl.col("value") > 0
    )
    return tuple(rows["condition"].unique(maintain_order=True).to_list())


def _view(data: Data, condition: str, trials: pl.DataFrame) -> DeliveredView:
    rows = data.rows.filter(measurement=KIND, condition=condition)
    ways = {way: _values(rows, way) for way in DIRECTIONS}
    good = trials.filter(pl.col("status") == "ok").height
    verdict = (
        ("in the one block" if good == 1 else f"in all {good} blocks")
        if good == trials.height
        else (f"in {good} of {trials.height} blocks; the others do not count")
    )
    lines = [line for way, found in ways.items() if found for line in _lines(way, found)]
    return DeliveredView(
        condition,
        verdict,
        good == trials.height,
        condition in decided_per_super_packet(data),
        FigureTable(("direction", "figure", "requested", "delivered"), "llrr", tuple(lines)),
        tuple((way, bars) for way in DIRECTIONS if (bars := _bars(data, trials, way))),
    )


def _values(rows: pl.DataFrame, way: str) -> Mapping[str, list[float]]:
    """Values of each metric of a direction, over the blocks."""
    found: dict[str, list[float]] = {}
    for metric, labels, value in rows.select("metric", "labels", "value").iter_rows():
        if value is not None and read_json(labels).get("direction") == way:
            found.setdefault(metric, []).append(value)
    return found


def _lines(way: str, found: Mapping[str, list[float]]) -> list[tuple[str, str, str, str]]:
    lines = [(way, "loss", _requested(found, "asked_loss_ratio", "1"), _loss(found))]
    _, lost = _counts(found)
    if lost:
        runs = sum(found.get("loss_runs", []))
        longest = max(found.get("longest_loss_run", [0.0]))
        mean = f"{lost / runs:.2f} packets, {longest:.0f} at most" if runs else _NONE
        lines.append((way, "lost in a row", _requested(found, "asked_loss_run", "packets"), mean))
    for name, metric in (
        ("delay, least", "delivered_delay_min_ms"),
        ("delay, median", "delivered_delay_ms"),
        ("delay, 99 %", "delivered_delay_p99_ms"),
    ):
        if metric in found:
            requested = _requested(found, "asked_delay_ms", "ms") if "99" not in name else ""
            lines.append((way, name, requested, f"{float(np.median(found[metric])):.3f} ms"))
    for name, requested, metric in (
        ("reordered", "asked_reordered_ratio", "reordered_packets"),
        ("duplicated", "asked_duplicate_ratio", "duplicate_packets"),
    ):
        share = sum(found.get(metric, [])) / max(sum(found.get("sent_packets", [])), 1)
        if share or found.get(requested, [0.0])[0]:
            lines.append((way, name, _requested(found, requested, "1"), _percent(share)))
    if "asked_limit_packets" in found:
        held = found.get("delivered_limit_packets", [])
        delivered = f"{float(np.median(held)):.0f} packets" if held else "not measured"
        requested = _requested(found, "asked_limit_packets", "packets")
        lines.append((way, "held at most, delayed ones included", requested, delivered))
    if "asked_rate_bps" in found:
        delivered = "not measured: faster than the generator"
        if "delivered_rate_bps" in found:
            delivered = _scaled(float(np.median(found["delivered_rate_bps"])), "bit/s")
        requested_rate = _requested(found, "asked_rate_bps", "bit/s")
        less = " less the loss" if found.get("asked_loss_ratio", [0.0])[0] else ""
        lines.append((way, "rate of frames", requested_rate + less, delivered))
    if "oversize_arrived" in found:
        arrived = f"{sum(found['oversize_arrived']):.0f} arrived"
        lines.append((way, "longer than the MTU", "none", arrived))
    return lines


def _requested(found: Mapping[str, list[float]], metric: str, unit: str) -> str:
    if metric not in found:
        return _NONE
    value = found[metric][0]
    return _percent(value) if unit == "1" else _scaled(value, unit)


def _counts(found: Mapping[str, list[float]]) -> tuple[int, int]:
    """Packets sent and lost in all blocks; zeros for figures that no count can give, which only a
    damaged or foreign journal has."""
    pairs = zip(found.get("sent_packets", []), found.get("delivered_loss_ratio", []), strict=False)
    sent, lost = sum(found.get("sent_packets", [])), sum(each * ratio for each, ratio in pairs)
    return (round(sent), round(lost)) if 0 <= lost <= sent <= MOST_NUMBER else (0, 0)


def _loss(found: Mapping[str, list[float]]) -> str:
    """Of all blocks together, with the exact 95 % interval for independent losses."""
    sent, lost = _counts(found)
    if not sent:
        return _NONE
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import, seldom needed

    interval = binomtest(lost, sent).proportion_ci(0.95)
    return (
        f"{_percent(lost / sent)} [{100 * interval.low:.2f}, {100 * interval.high:.2f}] "
        f"({grouped(lost, 0)} of {grouped(sent, 0)})"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share else "0 %"


def _scaled(value: float, unit: str) -> str:
    scale = scale_for(unit, [value]) if unit != "packets" else None
    return scale.text(value) if scale else f"{value:.2f} packets"


def _bars(data: Data, trials: pl.DataFrame, way: str) -> tuple[DelayBar, ...]:
    """A histogram of all blocks, with bars of equal width on a logarithmic axis."""
    chosen = data.histograms.filter(
        pl.col("name") == HISTOGRAM, pl.col("trial").is_in(trials["trial"].implode())
    )
    pooled: LatencyDistribution = EMPTY
    for labels, hdr_v2 in chosen.select("labels", "hdr_v2").iter_rows():
        if read_json(labels).get("direction") == way:
            pooled = pooled + decode(hdr_v2)
    if not pooled.total:
        return ()
    values = np.maximum(pooled.values, 1)
    edges = np.geomspace(values.min(), values.max() + 1, BARS + 1)
    counts, _ = np.histogram(values, edges, weights=pooled.counts)
    return tuple(
        DelayBar(_scaled(float(edge), "ns"), float(count / counts.max()), int(count))
        for edge, count in zip(edges[:-1], counts, strict=True)
    )

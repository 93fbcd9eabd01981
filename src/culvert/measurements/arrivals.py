"""How packets arrived: their delay, its variation, and how losses cluster."""

from __future__ import annotations

from culvert.journal.record import Metric
from culvert.probe.results import UdpSunk


def arrival_metrics(sunk: UdpSunk) -> list[Metric]:
    """What the receiver saw; figures that it could not know are left out.

    One-way delay needs one clock: sender and receiver on one machine. Its variation does not.
    """
    found = [
        Metric("loss_runs", "runs", sunk.loss_runs.runs),
        Metric("longest_loss_run", "packets", sunk.loss_runs.longest),
    ]
    if sunk.jitter_ns is not None:
        found.append(Metric("jitter_us", "us", sunk.jitter_ns / 1e3))
    if sunk.one_way is not None:
        found += [
            Metric("one_way_p50_us", "us", sunk.one_way.p50_ns / 1e3),
            Metric("one_way_p99_us", "us", sunk.one_way.p99_ns / 1e3),
        ]
    if sunk.pdv is not None:
        found += [
            Metric("delay_variation_p50_us", "us", sunk.pdv.p50_ns / 1e3),
            Metric("delay_variation_p99_us", "us", sunk.pdv.p99_ns / 1e3),
        ]
    return found

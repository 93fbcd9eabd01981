"""Metrics that only imports have; the others are declared by Culvert's measurements."""

from __future__ import annotations

from culvert.metrics import Better, MetricSpec, family

IMPORTED: tuple[MetricSpec, ...] = (
    MetricSpec("jitter_ms", "ms", "Jitter", Better.LESS),
    MetricSpec("iperf3_cpu_percent", "%", "CPU of iperf3"),
    MetricSpec("node_cpu_percent", "%", "CPU of the node", Better.LESS),
    MetricSpec("node_memory_bytes", "bytes", "Memory of the node", Better.LESS),
    *family("response_{}_ms", "ms", "Response", ("p50", "p90", "p99", "mean", "max"), Better.LESS),
    MetricSpec("requests", "requests", "Requests"),
    MetricSpec("error_ratio", "1", "Share of requests that failed", Better.LESS),
    MetricSpec("flent_median", "as named", "Median of a series of flent"),
)

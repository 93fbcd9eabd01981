"""Distributions of times as metrics in ms."""

from __future__ import annotations

from culvert.probe.results import Times

PERCENTILES = ("p50", "p90", "p99", "max")


def times_ms(what: str, times: Times | None, count: int) -> dict[str, float | None]:
    """By metric. Of ``count`` times one must lie beyond a percentile; the median is given of a
    single one as well."""
    if times is None:
        return {}
    us = {name: times.us(name, None if name == "p50" else count) for name in PERCENTILES}
    return {f"{what}_{name}_ms": None if at is None else at / 1e3 for name, at in us.items()}

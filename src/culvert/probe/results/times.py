"""A distribution of times."""

from __future__ import annotations

from culvert.probe.results.base import Result


class Times(Result):
    """Nanoseconds; ``histogram`` is HDR V2 in base64. None where nothing was recorded."""

    histogram: str | None = None
    min_ns: int | None = None
    p50_ns: int | None = None
    p90_ns: int | None = None
    p99_ns: int | None = None
    p99_9_ns: int | None = None
    p99_99_ns: int | None = None
    max_ns: int | None = None
    mean_ns: float | None = None

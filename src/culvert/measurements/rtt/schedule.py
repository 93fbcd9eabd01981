"""How echo requests are spread over time. The mean rate is the same in each."""

from __future__ import annotations

from enum import StrEnum


class Sampling(StrEnum):
    """Schedules of echo requests. Each starts at a random phase."""

    SCATTERED = "scattered"
    """One in each period, at a place that moves by the golden ratio: gaps of 0.618 and 1.618
    periods, so that no phase of the kernel's tick, or of anything periodic, is preferred."""
    PERIODIC = "periodic"
    """Even gaps (RFC 3432)."""
    POISSON = "poisson"
    """Exponential gaps (RFC 2330, 11.1.1)."""

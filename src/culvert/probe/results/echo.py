"""Round trips and echoes."""

from __future__ import annotations

from culvert.probe.results.base import Result


class RttResult(Result):
    """Result of ``rtt``; times in ns, ``histogram`` HDR V2 in base64."""

    sent: int
    received: int
    lost: int
    duplicates: int = 0
    late: int = 0
    corrupt: int = 0
    histogram: str | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    mean_ns: float | None = None
    p50_ns: int | None = None
    p90_ns: int | None = None
    p99_ns: int | None = None
    p99_9_ns: int | None = None
    p99_99_ns: int | None = None
    p50_actual_ns: int | None = None
    """From when the probe was sent, not from when it was due: what ping tells."""
    schedule_error_p99_ns: int | None = None
    timestamps: str = "user"


class EchoOnce(Result):
    """Result of ``echo_once``."""

    answered: bool
    rtt_ns: int | None = None
    error: str | None = None
    """Name of the last error, such as EMSGSIZE."""
    pmtu: int | None = None
    """The kernel's path MTU after the attempts, bytes of the IP packet."""


class EchoResult(Result):
    """Result of ``echo``: requests that it answered."""

    packets: int
    bytes: int = 0


class FirstAnswer(Result):
    """Result of ``first_answer``; CLOCK_MONOTONIC, and the answer by CLOCK_REALTIME as well."""

    first_sent_ns: int
    answered_ns: int
    answered_realtime_ns: int = 0
    attempts: int

"""Round trips and echoes."""

from __future__ import annotations

from culvert.probe.results.base import Result, Times
from culvert.probe.results.tcp import TcpInfo


class RttResult(Times):
    """Result of ``rtt``; its times count from when a request was due."""

    sent: int
    overdue: int = 0
    """Requests sent after the next one was due: the schedule was not kept."""
    send_errors: dict[str, int] = {}
    """Requests that the kernel refused, by the name of its error."""
    received: int
    lost: int
    corrupt: int = 0
    p50_actual_ns: int | None = None
    """Time since the actual sending of the probe, not since it was due: the time that ping
    reports."""
    schedule_error_p99_ns: int | None = None
    tcp_info: TcpInfo | None = None
    """TCP_INFO at the end, for TCP."""


class Floor(Times):
    """Result of ``noise_floor``; times count from when a request was sent."""

    sent: int


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


class FirstAnswer(Result):
    """Result of ``first_answer``; CLOCK_MONOTONIC, and the answer by CLOCK_REALTIME as well."""

    started_ns: int = 0
    """When the first request was sent, or could not be."""
    first_sent_ns: int
    """When the request was sent that was answered."""
    previous_sent_ns: int | None = None
    """When the request before it was sent, without an answer."""
    answered_ns: int
    answered_realtime_ns: int = 0
    attempts: int

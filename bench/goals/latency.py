"""The probe's round trips: how short, how punctual, how small."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from bench.bare import bare_session
from bench.bounds import MedianBelow, RatioAtMost
from bench.goal import ROUNDS, Samples, alternate
from bench.link import one_core_link, shared_link
from culvert.errors import LabError
from culvert.labs.base import Lab
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.results import RttResult
from culvert.trial.echo import Echo
from culvert.waiting import wait_until

SIZE = 64
SECONDS = 2
TIMEOUT_MS = 1000
MILLION = 1_000_000
FAST_PPS = 50_000
FASTEST_PPS = 100_000
FASTEST_COUNT = 200_000


class RttBesideSockperf(RatioAtMost):
    """Both in user space over UDP, both from when a request was sent, all on one core."""

    name: ClassVar[str] = "rtt-beside-sockperf"
    what: ClassVar[str] = "median round trip of UDP echo, 64-byte packets, one core"
    peer: ClassVar[str] = "sockperf ping-pong"
    unit: ClassVar[str] = "us"
    goal: ClassVar[str] = "at or below"
    factor: ClassVar[float] = 1
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("sockperf", "sockperf"),)

    def measure(self) -> Samples:
        """On one lab."""
        with one_core_link() as lab:
            return alternate(
                lambda: (_rtt(lab, rate_pps=10_000, count=20_000).p50_actual_ns or 0) / 1e3,
                lambda: _sockperf_us(lab),
                ROUNDS,
            )


class RttSchedule(MedianBelow):
    """10,000 probes a second, the sender awake before each is due."""

    name: ClassVar[str] = "rtt-schedule"
    what: ClassVar[str] = "p99 lateness of a schedule of 10,000 probes a second"
    unit: ClassVar[str] = "us"
    goal: ClassVar[str] = "under 50 us on an idle core"
    limit: ClassVar[float] = 50

    def measure(self) -> Samples:
        """On one lab."""
        with shared_link() as lab:
            runs = [_rtt(lab, rate_pps=10_000, count=20_000) for _ in range(ROUNDS)]
        return Samples(ours=[(run.schedule_error_p99_ns or 0) / 1e3 for run in runs])


class RttScheduleFast(MedianBelow):
    """100,000 probes a second; the sender is awake all the time, and none is left out."""

    name: ClassVar[str] = "rtt-schedule-fast"
    what: ClassVar[str] = "p99 lateness of a schedule of 100,000 probes a second"
    unit: ClassVar[str] = "us"
    goal: ClassVar[str] = "under 50 us on an idle core, and every probe sent"
    limit: ClassVar[float] = 50

    def __init__(self) -> None:
        self._all_sent = False

    def measure(self) -> Samples:
        """On one lab."""
        with shared_link() as lab:
            runs = [_rtt(lab, rate_pps=FASTEST_PPS, count=FASTEST_COUNT) for _ in range(ROUNDS)]
        self._all_sent = all(run.sent == FASTEST_COUNT for run in runs)
        return Samples(ours=[(run.schedule_error_p99_ns or 0) / 1e3 for run in runs])

    def met(self, samples: Samples) -> bool:
        """Both."""
        return self._all_sent and super().met(samples)


class RttMemory(MedianBelow):
    """Peak resident memory of the agent that sends them."""

    name: ClassVar[str] = "rtt-memory"
    what: ClassVar[str] = "peak memory of 1,000,000 probes"
    unit: ClassVar[str] = "bytes"
    goal: ClassVar[str] = "under 64 MB"
    limit: ClassVar[float] = 64e6

    def measure(self) -> Samples:
        """Once: it takes 20 s."""
        memory: list[float] = []
        with shared_link() as lab:
            _rtt(lab, rate_pps=FAST_PPS, count=MILLION, memory=memory)
        return Samples(ours=memory)


def _rtt(lab: Lab, *, rate_pps: float, count: int, memory: list[float] | None = None) -> RttResult:
    """On new agents; their peak memory is appended to ``memory``."""
    with bare_session(lab) as session, Echo(session, count / rate_pps + 15) as echo:
        found = echo.rtt(
            rate_pps=rate_pps,
            count=count,
            payload_size=SIZE - UDP_HEADERS,
            timeout_ms=TIMEOUT_MS,
            spin_us=1000,
        )
        if memory is not None:
            memory.append(_peak_bytes(session.a.process.pid))
    return found


def _peak_bytes(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return float(found[1]) * 1024 if found else float("inf")


def _sockperf_us(lab: Lab) -> float:
    to = str(lab.b.underlay.address.ip)
    server = lab.b.spawn(["sockperf", "server", "-i", to], name="sockperf")
    try:
        wait_until(
            lambda: "listen" in server.log_text().lower(), what="sockperf's server", deadline_s=5
        )
        done = lab.a.run(
            [
                *("sockperf", "ping-pong", "-i", to, "-m", str(SIZE - UDP_HEADERS)),
                *("-t", str(SECONDS), "--full-rtt"),
            ],
            timeout_s=SECONDS + 15,
        )
    finally:
        server.stop()
    return _percentile_us(done.stdout)


def _percentile_us(output: str) -> float:
    found = re.search(r"percentile 50\.000 =\s+([\d.]+)", output)
    if found is None:
        raise LabError("sockperf's output", "has no median", "its version may be another")
    return float(found[1])

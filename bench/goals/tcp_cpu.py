"""TCP on a link without a limit: goodput, and what it costs."""

from __future__ import annotations

import json
from typing import ClassVar

from bench.bare import bare_session
from bench.bounds import RatioAtLeast, RatioAtMost
from bench.cpu import cpu_s
from bench.goal import ROUNDS, Samples, alternate
from bench.link import fast_link
from culvert.labs.base import Lab
from culvert.labs.process import Process
from culvert.measurements.streams.tcp_load import WRITE_BYTES, TcpLoad, TcpStreams
from culvert.waiting import wait_until

SECONDS = 3
TOLERANCE = 0.02
"""Of the ratio: what a shared machine moves it by from run to run."""


class TcpGoodput(RatioAtLeast):
    """CUBIC, writes of 128 KiB, as iperf3 does."""

    name: ClassVar[str] = "tcp-goodput"
    what: ClassVar[str] = "TCP goodput without a limit"
    peer: ClassVar[str] = "iperf3"
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[str] = "at least iperf3's (2 % for the machine)"
    factor: ClassVar[float] = 1 - TOLERANCE
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("iperf3", "iperf3"),)

    def measure(self) -> Samples:
        """On one lab."""
        with fast_link() as lab:
            return alternate(lambda: _probe(lab)[0], lambda: _iperf3(lab)[0], ROUNDS)


class TcpCpu(RatioAtMost):
    """Sender and receiver together, per gigabyte of goodput."""

    name: ClassVar[str] = "tcp-cpu"
    what: ClassVar[str] = "CPU seconds of both ends per gigabyte by TCP"
    peer: ClassVar[str] = "iperf3"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "no more than iperf3's (2 % for the machine)"
    factor: ClassVar[float] = 1 + TOLERANCE
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("iperf3", "iperf3"),)

    def measure(self) -> Samples:
        """On one lab."""
        with fast_link() as lab:
            return alternate(lambda: _probe(lab)[1], lambda: _iperf3(lab)[1], ROUNDS)


def _probe(lab: Lab) -> tuple[float, float]:
    """Goodput in bit/s, CPU seconds per gigabyte."""
    with bare_session(lab) as session:
        before_s = cpu_s(session.a.process.pid) + cpu_s(session.b.process.pid)
        done = TcpLoad(session, TcpStreams(SECONDS), upward=True).finish()
        spent_s = cpu_s(session.a.process.pid) + cpu_s(session.b.process.pid) - before_s
    return done.goodput_bps, 1e9 * spent_s / max(done.sunk.bytes, 1)


def _await_end(process: Process) -> None:
    what = f"{process.name} ended"
    wait_until(lambda: not process.alive(), what=what, deadline_s=SECONDS + 15)


def _iperf3(lab: Lab) -> tuple[float, float]:
    to = str(lab.b.underlay.address.ip)
    server = lab.b.spawn(
        ["iperf3", "--server", "--one-off", "--bind", to, "--forceflush"], name="iperf3"
    )
    try:
        wait_until(lambda: "listening" in server.log_text(), what="iperf3's server", deadline_s=5)
        client = lab.a.spawn(
            [
                *("iperf3", "--client", to, "--time", str(SECONDS), "--congestion", "cubic"),
                *("--length", str(WRITE_BYTES), "--json"),
            ],
            name="iperf3-client",
        )
        try:
            for process in (client, server):
                _await_end(process)
            spent_s = cpu_s(client.pid) + cpu_s(server.pid)
            end = json.loads(client.log_text())["end"]["sum_received"]
        finally:
            client.stop()
    finally:
        server.stop()
    return end["bits_per_second"], 1e9 * spent_s / max(end["bytes"], 1)

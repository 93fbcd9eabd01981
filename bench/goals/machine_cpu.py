"""Packets that reach the receiver's program per CPU-second of the whole machine: the main figure.

Neither steering nor wake-ups move this cost out of the account: elapsed time less idle time of all
CPUs, from before the first packet until both programs have ended; less what a hypervisor took away,
which nobody spent here. Of the peers iperf3 reports what its receiver got.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from bench.bounds import RatioAtLeast
from bench.far_end import keep_out_of_the_account
from bench.floods import PACKAGES, PEERS, SIZE, Flood, iperf3_flood, probe_flood, probe_source
from bench.goal import ROUNDS, Samples, alternate, stolen_s
from bench.link import fast_link
from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.cpu import steering
from culvert.topology.processors import Steering

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
FACTOR = 3.0
SECONDS = 5
"""The programs' start, which is no packet's cost, weighs little in this time."""
_IDLE = slice(3, 5)
"""idle and iowait of /proc/stat."""


class MachineCpu(RatioAtLeast):
    """As the kernel has it: no steering."""

    name: ClassVar[str] = "machine-cpu"
    what: ClassVar[str] = "64-byte packets received per CPU-second of the machine"
    peer: ClassVar[str] = "iperf3"
    unit: ClassVar[str] = "packets/s"
    goal: ClassVar[str] = f"at least {FACTOR:g} times"
    factor: ClassVar[float] = FACTOR
    programs: ClassVar[tuple[tuple[str, str], ...]] = (PACKAGES["iperf3"],)
    steered: ClassVar[bool] = False

    def measure(self) -> Samples:
        """On one lab."""
        with fast_link() as lab:
            if self.steered:
                _steer(lab)
            return alternate(
                lambda: _received_per_s(lambda: probe_flood(lab, seconds=SECONDS)),
                lambda: _received_per_s(lambda: iperf3_flood(lab, seconds=SECONDS)),
                ROUNDS,
            )


class MachineCpuSteered(MachineCpu):
    """With packet steering at the far end, which costs an interrupt per wake-up."""

    name: ClassVar[str] = "machine-cpu-steered"
    what: ClassVar[str] = "the same with packet steering at the far end"
    steered: ClassVar[bool] = True


class SenderUnsteered(RatioAtLeast):
    """The sender's own CPU time without steering: it pays for the receiver's half of the kernel."""

    name: ClassVar[str] = "packets-iperf3-unsteered"
    what: ClassVar[str] = "64-byte packets per CPU-second of the sender, no steering"
    peer: ClassVar[str] = "iperf3"
    unit: ClassVar[str] = "packets/s"
    goal: ClassVar[str] = "shown beside packets-iperf3, which steers; at least 2 times"
    factor: ClassVar[float] = 2
    programs: ClassVar[tuple[tuple[str, str], ...]] = (PACKAGES["iperf3"],)

    def measure(self) -> Samples:
        """On one lab."""
        with fast_link() as lab:
            keep_out_of_the_account(lab, SIZE, steer=False)
            return alternate(
                lambda: probe_source(lab).sent_per_cpu_s,
                lambda: PEERS["iperf3"](lab).sent_per_cpu_s,
                ROUNDS,
            )


def _received_per_s(flood: Callable[[], Flood]) -> float:
    begun, unused = time.monotonic(), _unused_s()
    found = flood()
    elapsed = (time.monotonic() - begun) * (os.cpu_count() or 1)
    return (found.received or 0) / max(elapsed - (_unused_s() - unused), TICK_S)


def _unused_s() -> float:
    """CPU seconds in which nothing ran here."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(map(int, fields[_IDLE])) * TICK_S + stolen_s()


def _steer(lab: Lab) -> None:
    if not lab.b.cpus:
        raise NotPossible("steering received packets", "the nodes share all CPUs", "use two CPUs")
    steering.apply(lab.b, lab.b.underlay.device, Steering(rps=True), lab.b.cpus)

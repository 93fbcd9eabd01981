"""Packets that reach the receiver's program per CPU-second of the whole machine: the main figure.

Neither steering nor wake-ups move this cost out of the account: elapsed time less idle time of all
CPUs, from before the first packet until both programs have ended; less what a hypervisor took away,
which nobody spent here.

What crosses the link are single packets. Whether the receiving device joins those of one flow (GRO:
a real card's default, not a veth's) helps some programs and hinders others: each contestant has it
as suits it best, and each is also measured without.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from bench.bounds import RatioAtLeast
from bench.calm import stolen_s
from bench.far_end import join_received, keep_out_of_the_account
from bench.floods import (
    PACKAGES,
    PEERS,
    SIZE,
    Flood,
    iperf2_flood,
    iperf3_flood,
    nuttcp_flood,
    probe_flood,
    probe_source,
)
from bench.goal import ROUNDS, Samples, alternate
from bench.link import fast_link
from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.cpu import steering
from culvert.topology.spec import Steering

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
FACTOR = 3.0
FACTOR_WITHOUT_GRO = 1.5
SECONDS = 5
"""The programs' start, which is no packet's cost, weighs little in this time."""
_IDLE = slice(3, 5)
"""idle and iowait of /proc/stat."""
OURS = "probe"
FLOODS: Mapping[str, Callable[[Lab], Flood]] = {
    OURS: partial(probe_flood, seconds=SECONDS),
    "iperf3": partial(iperf3_flood, seconds=SECONDS),
    "iperf2": partial(iperf2_flood, seconds=SECONDS),
    "nuttcp": partial(nuttcp_flood, seconds=SECONDS),
}
"""Those who report what their receiver got."""


@dataclass(frozen=True)
class _Setting:
    """A contestant, and whether the receiving device joins packets."""

    name: str
    joined: bool

    def received_per_s(self, lab: Lab) -> float:
        """One flood; 0 if the contestant does not report what was received."""
        join_received(lab, self.joined)
        begun, unused = time.monotonic(), _unused_s()
        found = FLOODS[self.name](lab)
        elapsed = (time.monotonic() - begun) * (os.cpu_count() or 1)
        return (found.received or 0) / max(elapsed - (_unused_s() - unused), TICK_S)


class MachineCpu(RatioAtLeast):
    """As the kernel has it: no steering."""

    name: ClassVar[str] = "machine-cpu"
    what: ClassVar[str] = "64-byte packets received per CPU-second of the machine"
    peer: ClassVar[str] = f"the best of {len(FLOODS) - 1}"
    unit: ClassVar[str] = "packets/s"
    goal: ClassVar[str] = f"at least {FACTOR:g} times"
    factor: ClassVar[float] = FACTOR
    programs: ClassVar[tuple[tuple[str, str], ...]] = (
        *(PACKAGES[name] for name in FLOODS if name != OURS),
        ("ethtool", "ethtool"),
    )
    steered: ClassVar[bool] = False
    gro: ClassVar[tuple[bool, ...]] = (False, True)
    """What the receiving device may do."""

    def measure(self) -> Samples:
        """On one lab; details have one flood in each setting, by which the peer and the settings
        are chosen."""
        with fast_link() as lab:
            if self.steered:
                _steer(lab)
            tried = {
                setting: setting.received_per_s(lab)
                for setting in (_Setting(name, joined) for name in FLOODS for joined in self.gro)
            }
            ours = max((one for one in tried if one.name == OURS), key=tried.__getitem__)
            peer = max((one for one in tried if one.name != OURS), key=tried.__getitem__)
            found = alternate(
                lambda: ours.received_per_s(lab), lambda: peer.received_per_s(lab), ROUNDS
            )
        found.details = [
            {
                "program": setting.name,
                "gro": setting.joined,
                "packets_per_s": rate,
                "chosen": setting in (ours, peer),
            }
            for setting, rate in tried.items()
        ]
        return found


class MachineCpuSteered(MachineCpu):
    """With packet steering at the far end, which costs an interrupt per wake-up."""

    name: ClassVar[str] = "machine-cpu-steered"
    what: ClassVar[str] = "the same with packet steering at the far end"
    steered: ClassVar[bool] = True


class MachineCpuWithoutGro(MachineCpu):
    """As a veth comes: nobody's packets are joined."""

    name: ClassVar[str] = "machine-cpu-without-gro"
    what: ClassVar[str] = "the same without GRO at the far end"
    goal: ClassVar[str] = f"shown beside machine-cpu; at least {FACTOR_WITHOUT_GRO:g} times"
    factor: ClassVar[float] = FACTOR_WITHOUT_GRO
    gro: ClassVar[tuple[bool, ...]] = (False,)


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


def _unused_s() -> float:
    """CPU seconds in which nothing ran here."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(map(int, fields[_IDLE])) * TICK_S + stolen_s()


def _steer(lab: Lab) -> None:
    if not lab.b.cpus:
        raise NotPossible("steering received packets", "the nodes share all CPUs", "use two CPUs")
    steering.apply(lab.b, lab.b.underlay.device, Steering(rps=True), lab.b.cpus)

"""Busy CPU time of the whole machine, and whether its parts fit into it.

Where the kernel stops its tick on idle CPUs it adds up their idle time itself, exactly: busy time
is then elapsed time less idle time, less what a hypervisor took. Elsewhere ``/proc/stat`` is all
there is, which samples at ticks: a load in step with the tick counts from nothing to everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from culvert.probe.results import Accounted, CpuTimes

SHOWN_S = 0.01
"""``/proc/stat`` counts hundredths of a second."""
CLOCKS_APART = 0.005
"""Largest relative difference between the scheduler's clock and the idle clock."""
SAMPLED_APART = 0.1
"""Largest relative difference between busy time and the sum of the tick's samples."""


@dataclass(frozen=True)
class Busy:
    """Busy time in seconds, and the largest amount by which it may be too low.

    ``sampled_s`` is what the ticks counted: user, system, interrupts.
    """

    seconds: float
    tolerance_s: float
    sampled_s: float
    cpus: int
    exact: bool

    def covers(self, parts_s: float) -> bool:
        """Whether the sum of its parts is at most the whole."""
        return parts_s <= self.most_s

    @property
    def most_s(self) -> float:
        """Upper bound of the sum of its parts."""
        return self.seconds * (1 + CLOCKS_APART) + self.tolerance_s

    @property
    def is_split_by_samples(self) -> bool:
        """Whether the ticks counted about the busy time, so that their split is usable."""
        slack_s = self.tolerance_s + 2 * SHOWN_S * self.cpus
        return abs(self.sampled_s - self.seconds) <= SAMPLED_APART * self.seconds + slack_s


def busy_of(nodes: Sequence[Accounted]) -> Busy:
    """The busy time, from one node of each kernel."""
    each = [_of_node(node) for node in nodes]
    return Busy(
        sum(one.seconds for one in each),
        sum(one.tolerance_s for one in each),
        sum(one.sampled_s for one in each),
        sum(one.cpus for one in each),
        all(one.exact for one in each),
    )


def core_busy_s(node: Accounted) -> dict[int, float]:
    """Busy seconds by CPU; empty if idle time is only sampled."""
    if node.busy is None:
        return {}
    stolen_s = {cpu.cpu: cpu.steal_s for cpu in node.cpus}
    return {
        cpu.cpu: max(cpu.busy_ns / 1e9 - stolen_s.get(cpu.cpu, 0.0), 0.0) for cpu in node.busy.cpus
    }


def sampled_s(cpu: CpuTimes) -> float:
    """Busy seconds of a CPU, as counted by the ticks."""
    return cpu.user_s + cpu.nice_s + cpu.system_s + cpu.irq_s + cpu.softirq_s


def _of_node(node: Accounted) -> Busy:
    sampled = sum(sampled_s(cpu) for cpu in node.cpus)
    if node.busy is None:
        return Busy(sampled, SHOWN_S * len(node.cpus), sampled, len(node.cpus), exact=False)
    # Time can be stolen from a CPU that is already counted as idle.
    stolen_s = sum(cpu.steal_s for cpu in node.cpus)
    uncertainty_s = sum(cpu.uncertainty_ns for cpu in node.busy.cpus) / 1e9
    return Busy(
        sum(core_busy_s(node).values()),
        uncertainty_s + stolen_s,
        sampled,
        len(node.cpus),
        exact=True,
    )

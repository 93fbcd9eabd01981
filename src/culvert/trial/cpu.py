"""``cpu``: which processes used the processors while a measurement ran.

Seconds of threads are from the scheduler's own clock (schedstat, ns), those of the machine from the
kernel's idle clocks where it has them (``culvert.trial.busy``). How busy time splits into user,
system and softirq is sampled by the tick. Figures that contradict each other are withheld.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from culvert.metrics import EVERY_TRIAL
from culvert.probe.results import Accounted, CpuTimes
from culvert.results import Metric, measured
from culvert.trial.accounting import EVERYBODY, cpu_s, of_the_vpn
from culvert.trial.busy import Busy, busy_of, core_busy_s
from culvert.trial.check import Withheld

GIGABYTE = 1e9
MOST_SWITCHES = 5
"""The number that mackey2020 lists."""
_WORKER = re.compile(r"(kworker)/.*")
SOFTIRQ = "ksoftirqd/"
OF_THE_WHOLE = ("cpu_busy_s", "cpu_percent", "cpu_s_per_gb", "core_busy_s")
OF_THE_SPLIT = (
    *("cpu_user_percent", "cpu_system_percent", "cpu_softirq_percent"),
    *("core_user_s", "core_system_s", "core_softirq_s"),
)


@dataclass
class CpuFigures:
    """Metrics, and those that were withheld."""

    metrics: list[Metric] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)

    def withhold(self, names: Sequence[str], reason: str) -> None:
        """Leave these metrics out, with the reason."""
        self.metrics = [metric for metric in self.metrics if metric.name not in names]
        self.withheld.append(Withheld(tuple(names), reason))


def cpu_figures(
    accounted: Mapping[str, Accounted],
    *,
    goodput_bytes: int | None,
    shared_kernel: bool,
    attributable: bool = True,
) -> CpuFigures:
    """Metrics of both ends of a path, by node, the source first.

    ``shared_kernel``: both read the same /proc/stat, so it counts once.

    CPU seconds per gigabyte (1e9 bytes of goodput) are given for the whole machine, for the VPN's
    processes and kernel threads, and for the probe, so that the generator's share is known.
    The VPN's is left out where it is not ``attributable`` (see ``Vpn``), because zero would be too
    low.
    """
    first, *_ = accounted
    nodes = [accounted[first]] if shared_kernel else list(accounted.values())
    cpus = [(node.seconds, cpu) for node in nodes for cpu in node.cpus]
    busy = busy_of(nodes)
    seconds = accounted[first].seconds
    vpn_s = sum(cpu_s(of_the_vpn(node)) for node in accounted.values())
    vpn_s += sum(_kernel_threads_s(node) for node in nodes)
    probe_s = sum(_probe_s(node) for node in accounted.values())
    values = {
        **_percentages(cpus),
        "cpu_busy_s": busy.seconds,
        "cpu_busy_uncertainty_s": busy.tolerance_s,
        "cpu_percent": 100 * busy.seconds / max(seconds, 1e-9),
        "cpu_vpn_s": vpn_s if attributable else None,
        "cpu_probe_s": probe_s,
        "context_switches_total": sum(node.context_switches_total for node in nodes),
    }
    if goodput_bytes:
        gigabytes = goodput_bytes / GIGABYTE
        values |= {
            "cpu_s_per_gb": busy.seconds / gigabytes,
            "cpu_vpn_s_per_gb": vpn_s / gigabytes if attributable else None,
            "cpu_probe_s_per_gb": probe_s / gigabytes,
        }
    kernels = {"machine": accounted[first]} if shared_kernel else accounted
    metrics = _measured(values)
    for where, node in kernels.items():
        metrics += [*_per_core(where, node), *_kernel_threads(where, node)]
    metrics += _most_switches("machine" if shared_kernel else first, accounted[first])
    for name, node in accounted.items():
        metrics += _per_process(name, node)
    return _judge(CpuFigures(metrics), busy, vpn_s + probe_s)


def _judge(figures: CpuFigures, busy: Busy, parts_s: float) -> CpuFigures:
    """Withhold contradictory figures: a whole below its parts, or a split of another total."""
    if not busy.covers(parts_s):
        figures.withhold(
            OF_THE_WHOLE,
            f"VPN and probe used {parts_s:.3f} s, the machine {busy.seconds:.3f} s (at most "
            f"{busy.most_s:.3f} s); {_source(busy)}",
        )
    if not busy.covers(parts_s) or not busy.is_split_by_samples:
        figures.withhold(
            OF_THE_SPLIT,
            f"the ticks counted {busy.sampled_s:.3f} s of {busy.seconds:.3f} s of busy time",
        )
    return figures


def _source(busy: Busy) -> str:
    return "by the kernel's idle clocks" if busy.exact else "sampled by the kernel's ticks"


def _most_switches(where: str, accounted: Accounted) -> list[Metric]:
    """The processes and kernel threads that switched most, those of one name together.

    The kernel's workers are counted as one, because their tasks change all the time.
    """
    counts: Counter[str] = Counter()
    for user in accounted.processes:
        if user.label not in EVERYBODY:  # the VPN's are among the others too
            continue
        name = _WORKER.sub(r"\1", user.comm)
        counts[name] += (user.voluntary or 0) + (user.involuntary or 0)
    return [
        metric
        for name, count in counts.most_common(MOST_SWITCHES)
        if count
        for metric in _measured({"context_switches_most": count}, _of(where, name))
    ]


def _kernel_threads_s(accounted: Accounted) -> float:
    """CPU time of the VPN's kernel threads; ksoftirqd serves all processes and does not count."""
    return cpu_s(each for each in accounted.kernel_threads if not each.comm.startswith(SOFTIRQ))


def _probe_s(accounted: Accounted) -> float:
    return accounted.probe.run_ns / 1e9 if accounted.probe else 0.0


def _percentages(cpus: list[tuple[float, CpuTimes]]) -> dict[str, float | None]:
    """Sum over all cores, so that four busy cores are 400 %, as in dekker2020."""
    timed = [(max(seconds, 1e-9), cpu) for seconds, cpu in cpus]
    return {
        "cpu_user_percent": 100 * sum((cpu.user_s + cpu.nice_s) / s for s, cpu in timed),
        "cpu_system_percent": 100 * sum(cpu.system_s / s for s, cpu in timed),
        "cpu_softirq_percent": 100 * sum(cpu.softirq_s / s for s, cpu in timed),
        "cpu_steal_percent": 100 * sum(cpu.steal_s / s for s, cpu in timed),
    }


def _per_core(where: str, node: Accounted) -> list[Metric]:
    busy_s = core_busy_s(node)
    return [
        metric
        for cpu in node.cpus
        for metric in _measured(
            {
                "core_busy_s": busy_s.get(cpu.cpu),
                "core_user_s": cpu.user_s + cpu.nice_s,
                "core_system_s": cpu.system_s,
                "core_softirq_s": cpu.softirq_s + cpu.irq_s,
            },
            {"node": where, "cpu": str(cpu.cpu)},
        )
    ]


def _per_process(name: str, node: Accounted) -> list[Metric]:
    metrics = _measured({"cpu_process_s": _probe_s(node)}, _of(name, "probe"))
    for process in of_the_vpn(node):
        labels = _of(name, process.label)
        values = {
            "cpu_process_s": (process.run_ns or 0) / 1e9,
            "cpu_wait_s": (process.wait_ns or 0) / 1e9,
            "memory_peak_bytes": process.vm_hwm_bytes or 0,
        }
        metrics += _measured(values, labels)
        for kind, count in (("voluntary", process.voluntary), ("involuntary", process.involuntary)):
            metrics += _measured({"context_switches": count or 0}, labels | {"kind": kind})
        for thread in process.threads:
            if thread.run_ns:
                of_thread = labels | {"thread": f"{thread.name}:{thread.tid}"}
                metrics += _measured({"cpu_thread_s": thread.run_ns / 1e9}, of_thread)
    return metrics


def _kernel_threads(where: str, accounted: Accounted) -> list[Metric]:
    return [
        metric
        for thread in accounted.kernel_threads
        if thread.run_ns
        for metric in _measured(
            {"cpu_kernel_thread_s": thread.run_ns / 1e9}, _of(where, thread.comm)
        )
    ]


def _of(node: str, process: str) -> dict[str, str]:
    return {"node": node, "process": process}


_measured = partial(measured, EVERY_TRIAL)

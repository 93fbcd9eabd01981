"""CPU time and memory of the programs on a cluster's nodes beside a measurement: the CNI's agent,
the kubelet, the container runtime, the VPN.

On a cluster that a kubeconfig reaches the observers see the processes of their nodes; those of the
embedded cluster run on this machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from culvert.errors import CulvertError
from culvert.labs.process import Usage
from culvert.probe.results import Accounted, parse
from culvert.proof.cluster.observer import READ_S, Observer
from culvert.results import Metric
from culvert.run.pods.cluster import Under
from culvert.trial.check import Withheld

MOST = 12
"""Programs of a node that are reported: those that used most."""
_EVERYTHING = ({"pid": 1, "label": "node"},)
"""The first process and its descendants: all but the threads of the kernel."""
KERNEL_THREADS = ("kworker/.*", "ksoftirqd/.*", "napi/.*")
"""They encrypt for WireGuard and IPsec of the kernel, and pass packets on."""
NOT_LOOKED_AT = (
    "the CPU time and memory of the cluster's processes (the CNI's, a VPN's, the kubelet's) were "
    "not examined: this needs --prove, with observers on the nodes"
)
NS_PER_S = 1e9


@dataclass(frozen=True)
class Used:
    """Of all processes of one name on a node."""

    cpu_s: float = 0.0
    peak_bytes: int = 0

    def plus(self, cpu_s: float, peak_bytes: int) -> Used:
        return Used(self.cpu_s + cpu_s, self.peak_bytes + peak_bytes)


@dataclass
class Programs:
    """By node and name; filled when the measurement has ended."""

    by_node: dict[str, dict[str, Used]] = field(default_factory=dict)

    def metrics(self) -> list[Metric]:
        """Of the programs that used most on each node."""
        made = []
        for node, programs in self.by_node.items():
            ordered = sorted(programs.items(), key=lambda item: -item[1].cpu_s)
            for name, used in ordered[:MOST]:
                labels = {"node": node, "process": name}
                made.append(Metric("cpu_process_s", "s", used.cpu_s, labels))
                if used.peak_bytes:  # threads of the kernel have none
                    peak = Metric("memory_peak_bytes", "bytes", used.peak_bytes, labels)
                    made.append(peak)
        return made

    def withheld(self) -> list[Withheld]:
        names = ("cpu_process_s", "memory_peak_bytes")
        return [] if self.by_node else [Withheld(names, NOT_LOOKED_AT)]


@contextmanager
def accounting(under: Under, observers: Sequence[Observer]) -> Iterator[Programs]:
    """Account for the body."""
    found = Programs()
    tasks = {
        each.node: each.probe.begin(
            "accounting",
            pids=list(_EVERYTHING),
            by_thread=False,
            kernel_threads=list(KERNEL_THREADS),
        )
        for each in observers
    }
    for task in tasks.values():
        task.ready()
    before = under.usage()
    try:
        yield found
    except CulvertError:
        for task in tasks.values():  # observers are kept for later trials
            with suppress(CulvertError):
                task.stop(READ_S)
        raise
    after = under.usage()
    for node, task in tasks.items():
        found.by_node[node] = of_node(parse(Accounted, task.stop(READ_S)))
    for node, programs in between(before, after).items():
        found.by_node.setdefault(node, {}).update(programs)


def of_node(accounted: Accounted) -> dict[str, Used]:
    """The processes of a node by name, those of one name together; threads of the kernel by the
    part of their name before the processor's number."""
    found: dict[str, Used] = defaultdict(Used)
    for process in accounted.processes:
        if process.run_ns is not None:
            name = process.comm or process.label
            cpu_s = process.run_ns / NS_PER_S + (process.children_s or 0.0)
            found[name] = found[name].plus(cpu_s, process.vm_hwm_bytes or 0)
    for thread in accounted.kernel_threads:
        if thread.run_ns:
            name = thread.comm.partition("/")[0]
            found[name] = found[name].plus(thread.run_ns / NS_PER_S, 0)
    return dict(found)


def between(
    before: Mapping[tuple[str, str], Usage], after: Mapping[tuple[str, str], Usage]
) -> dict[str, dict[str, Used]]:
    """What was used between two readings, by node and name; of programs that are in both."""
    found: dict[str, dict[str, Used]] = defaultdict(dict)
    for (node, name), usage in after.items():
        earlier = before.get((node, name))
        if earlier is not None:
            cpu_s = max(usage.cpu_ns - earlier.cpu_ns, 0) / NS_PER_S
            found[node][name] = Used(cpu_s, usage.peak_memory_bytes)
    return dict(found)

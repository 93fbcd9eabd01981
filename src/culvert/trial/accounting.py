"""Requests for the accounting of a node: of the VPN's processes and devices, and of all processes.

Reading all processes takes tens of milliseconds of CPU time. It begins before the accounting of
the VPN and ends after it, so that none of this is in the VPN's figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from culvert.labs.process import Process
from culvert.probe.client import Probe, Task
from culvert.probe.results import Accounted, ProcessUse, parse
from culvert.probe.results.accounting import KernelThreadUse
from culvert.trial.bystanders import KTHREADD, Bystanders

OTHERS = "other"
"""The label of processes that are neither Culvert's nor the kernel's."""
OWN = "culvert"
"""The label of this process and of all that it started."""
KERNEL = "kernel"
"""The label of kernel threads."""
EVERYBODY = frozenset({OTHERS, OWN, KERNEL})
"""Labels of the accounting of all, which the VPN's processes are in once more."""
UNDECLARED = "undeclared"
"""The label of processes of a node that descend from none that the driver declared."""
_INIT = 1


def begin_accounting(
    probe: Probe,
    processes: Iterable[Process],
    devices: Sequence[str],
    kernel_threads: Sequence[str] = (),
    *,
    beside: Mapping[str, Any] | None = None,
    node_init: int | None = None,
) -> Task:
    """Begin; the task's result is an ``Accounted``, with each process under its name. What is done
    to processes and devices from outside is observed.

    ``kernel_threads`` are regular expressions for names; ``beside`` is the device, with the lab's
    packets, of which others are counted (see ``Outside.beside``). ``node_init``: with all other
    processes of its PID namespace, and the orphans that ended, under the label ``undeclared``.
    """
    return probe.begin(
        "accounting",
        pids=[{"pid": process.pid, "label": process.name} for process in processes],
        kernel_threads=list(kernel_threads),
        devices=list(devices),
        interference=True,
        beside=beside,
        node_init=node_init,
    )


class Everybody:
    """The accounting of all processes and kernel threads, from its creation on: who switched
    contexts, and what others used. ``local``: the node is of this machine, so that this process's
    id means something there."""

    def __init__(self, probe: Probe, *, local: bool) -> None:
        roots = {_INIT: OTHERS, KTHREADD: KERNEL}
        if local:
            roots[os.getpid()] = OWN
        self._task = probe.begin(
            "accounting",
            pids=[{"pid": pid, "label": label} for pid, label in roots.items()],
            by_thread=False,
        )
        self._task.ready()
        self._outside = Bystanders() if local else None

    def end(self) -> Accounted:
        """Stop counting, and return what every process and thread used."""
        return parse(Accounted, self._task.stop())

    def outside_cpus(self) -> float | None:
        """CPUs that processes outside of our PID namespace used; None if it is not ours."""
        return None if self._outside is None else self._outside.cpus()


def of_the_vpn(used: Accounted) -> list[ProcessUse]:
    """The VPN's processes, without those that are accounted as everybody's."""
    return [process for process in used.processes if process.label not in EVERYBODY]


def cpu_s(uses: Iterable[ProcessUse | KernelThreadUse]) -> float:
    """CPU seconds by the scheduler's clock, with those of children that ended meanwhile, which the
    kernel counts in ticks."""
    used_s = 0.0
    for use in uses:
        used_s += (use.run_ns or 0) / 1e9
        if isinstance(use, ProcessUse):
            # What ended counts with its parent, with all that it had used before.
            used_s += (use.children_s or 0.0) - (use.used_before_ns or 0) / 1e9
    return max(used_s, 0.0)


def peak_bytes(processes: Iterable[ProcessUse]) -> int:
    """The sum of the processes' peaks of memory."""
    return sum(process.vm_hwm_bytes or 0 for process in processes)


def foreign_s(everybody: Accounted, own_pids: frozenset[int]) -> float:
    """CPU seconds of processes that are neither Culvert's nor the kernel's, and of their children
    that ended meanwhile. ``own_pids`` are the VPN's, wherever they were started from."""
    others = [
        process
        for process in everybody.processes
        if process.label == OTHERS and process.pid not in own_pids
    ]
    return cpu_s(others)


def sees_the_machine(everybody: Accounted) -> bool:
    """Whether it had a view of all processes: not so in a PID namespace, which has no kernel
    threads."""
    return any(process.label == KERNEL for process in everybody.processes)

"""A request for the accounting of a node's processes and devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from culvert.labs.process import Process
from culvert.probe.client import Probe, Task


def begin_accounting(
    probe: Probe,
    processes: Iterable[Process],
    devices: Sequence[str],
    kernel_threads: Sequence[str] = (),
) -> Task:
    """Begin; the task's result is an ``Accounted``, with each process under its name. What is done
    to processes and devices from outside is observed.

    ``kernel_threads`` are regular expressions for names.
    """
    return probe.begin(
        "accounting",
        pids=[{"pid": process.pid, "label": process.name} for process in processes],
        kernel_threads=list(kernel_threads),
        devices=list(devices),
        interference=True,
    )

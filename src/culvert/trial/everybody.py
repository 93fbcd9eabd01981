"""All processes and kernel threads of a machine, to find those with most context switches.

Reading all of them takes tens of milliseconds of CPU time. It begins before the accounting of the
VPN and ends after it, so that its own CPU time is not in the figures.
"""

from __future__ import annotations

import os

from culvert.probe.client import Probe
from culvert.probe.results import Accounted, parse

OTHERS = "other"
"""The label of processes that are not the VPN's."""
_INIT = 1
_KTHREADD = 2


class Everybody:
    """Accounts for all processes from construction on, by their ancestors: the first process, the
    parent of the kernel's threads, and our own process, which in a container may have other
    ancestors."""

    def __init__(self, probe: Probe) -> None:
        ancestors = dict.fromkeys((_INIT, _KTHREADD, os.getpid()))
        self._task = probe.begin(
            "accounting", pids=[{"pid": pid, "label": OTHERS} for pid in ancestors]
        )
        self._task.ready()

    def beside(self, accounted: Accounted) -> Accounted:
        """End it; returns a node's accounting with all these in addition to the VPN's processes."""
        everybody = parse(Accounted, self._task.stop())
        processes = [*accounted.processes, *everybody.processes]
        return accounted.model_copy(update={"processes": processes})

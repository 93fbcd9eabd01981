"""All processes and kernel threads of a machine, so that it can be told who switched contexts.

Looking at all of them takes tens of milliseconds of CPU time: it is begun before the accounting of
the VPN and ended after it, so that none of that is in its figures.
"""

from __future__ import annotations

import os

from culvert.probe.client import Probe
from culvert.probe.results import Accounted, parse

OTHERS = "other"
"""The label of those that are not the VPN's."""
_INIT = 1
_KTHREADD = 2


class Everybody:
    """Looked at from the beginning on. The ancestors of all are asked for: the first process, that
    of the kernel's threads, and our own where we were put into a container."""

    def __init__(self, probe: Probe) -> None:
        ancestors = dict.fromkeys((_INIT, _KTHREADD, os.getpid()))
        self._task = probe.begin(
            "accounting", pids=[{"pid": pid, "label": OTHERS} for pid in ancestors]
        )
        self._task.ready()

    def beside(self, accounted: Accounted) -> Accounted:
        """End it; the accounting of a node with all these beside the VPN's processes."""
        everybody = parse(Accounted, self._task.stop())
        processes = [*accounted.processes, *everybody.processes]
        return accounted.model_copy(update={"processes": processes})

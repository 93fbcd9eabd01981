"""Processors that do not sleep while short things are timed.

A packet that meets a sleeping processor waits until it has woken up, and in a virtual machine until
its host has: tens of microseconds, by another amount from tunnel to tunnel.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_SPINNING = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print("spinning", flush=True)
while True:
    pass
"""


@contextmanager
def awake() -> Iterator[None]:
    """A loop on each processor, of the class that runs only where nothing else would."""
    with ExitStack() as stack:
        for cpu in sorted(os.sched_getaffinity(0)):
            argv = [sys.executable, "-I", "-S", "-c", _SPINNING, str(cpu)]
            process = stack.enter_context(
                subprocess.Popen(argv, stdout=subprocess.PIPE, process_group=0)
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
        yield

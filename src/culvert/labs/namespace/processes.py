"""The PID namespace of a node: its programs see each other, and no other program.

::

    this process
    ├─ culvert-probe init    process 1 of the namespace: orphans become its children
    ├─ a VPN's daemon        in the namespace, and nevertheless a child of this process
    └─ culvert-probe agent   an instrument: outside, where it sees all of them

A thread may choose another PID namespace for its children (setns(2)) and stays in its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from culvert.labs.namespace import syscalls
from culvert.machine.scratch import CLONE_NEWPID, unshare


class ProcessNamespace:
    """A PID namespace that begins with the first process that is started in it."""

    def __init__(self) -> None:
        self.init: int | None = None
        """Id of its process 1, as seen from here."""

    @contextmanager
    def entered(self) -> Iterator[None]:
        """What the calling thread starts meanwhile is in the namespace."""
        own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if self.init is None:
                unshare(CLONE_NEWPID)
            else:
                _for_children(self.init)
            try:
                yield
            finally:
                syscalls.enter_processes(own)
        finally:
            os.close(own)


def _for_children(init: int) -> None:
    namespace = os.open(f"/proc/{init}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.enter_processes(namespace)
    finally:
        os.close(namespace)

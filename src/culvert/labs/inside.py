"""A thread that lives in a network namespace of its own.

Namespaces belong to threads, so nothing has to be forked to work inside one: netlink and ethtool
sockets are opened by this thread, its sysctls are the node's, and what it starts dies with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from culvert.errors import LabError
from culvert.labs import syscalls

T = TypeVar("T")


class NamespaceThread:
    """A new network namespace, held at ``path``, and the thread that is in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=path.name)
        self._netlink: Any = None

    def open(self) -> None:
        """Make the namespace; raises OSError."""
        self.call(self._enter)

    def call(self, work: Callable[[], T]) -> T:
        """Run ``work`` inside and return what it returns; calls are done one after another."""
        return self._thread.submit(work).result()

    def netlink(self, work: Callable[[Any], T], what: str) -> T:
        """Run ``work`` with the namespace's pyroute2.IPRoute; ``what`` names it in errors."""
        with netlink_errors(what):
            return self.call(lambda: work(self._netlink))

    def close(self) -> None:
        """Leave the namespace; what is held at ``path`` stays. Idempotent."""
        with suppress(RuntimeError):  # closed already, or the interpreter is going down
            self._thread.submit(self._leave)
        self._thread.shutdown()

    def _enter(self) -> None:
        syscalls.unshare_network()
        self.path.touch(mode=0o444)
        syscalls.mount("/proc/thread-self/ns/net", self.path, "", syscalls.MS_BIND)
        self._netlink = IPRoute()

    def _leave(self) -> None:
        if self._netlink is not None:
            self._netlink.close()
            self._netlink = None


@contextmanager
def netlink_errors(what: str) -> Iterator[None]:
    """Turn the kernel's refusal into a LabError."""
    try:
        yield
    except NetlinkError as error:
        raise LabError(
            what,
            f"the kernel refused: {os.strerror(error.code)} (errno {error.code})",
            "see `culvert doctor` for what this kernel can do",
        ) from error

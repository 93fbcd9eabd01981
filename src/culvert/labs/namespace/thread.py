"""A thread in its own network namespace.

Namespaces belong to threads, so that work inside one needs no fork: this thread opens netlink and
ethtool sockets, its sysctls are the node's, and programs that it starts end with it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from culvert.errors import DeadlineExceeded, LabError
from culvert.labs.namespace import syscalls
from culvert.labs.namespace.places import namespace_path
from culvert.machine.scratch import CLONE_NEWNET, unshare

T = TypeVar("T")

ALIVE_CHECK_S = 0.5
CALL_S = 60.0
"""Longest time of a call in which this process runs: the longest legitimate one takes 5 s."""
CLOSE_S = 10.0
"""Longest time for which a call that goes on is waited for: the namespace ends with its process."""


@dataclass(frozen=True)
class _Outcome:
    value: object
    error: BaseException | None


@dataclass(frozen=True)
class _Job:
    what: str
    work: Callable[[], object]
    # SimpleQueue is implemented in C: Ctrl-C at a critical moment would leave the conditions of
    # concurrent.futures locked.
    answer: SimpleQueue[_Outcome]


class NamespaceThread:
    """A new network namespace of a run's node, mounted at ``path``, and the thread in it."""

    def __init__(self, run_id: str, node: str) -> None:
        self.path = namespace_path(run_id, node)
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        # A daemon, so that a lab that is still open can be closed while Python exits.
        self._thread = threading.Thread(target=self._serve, name=self.path.name, daemon=True)
        self._netlink: Any = None
        self._doing = ""
        """The call that goes on."""
        self._hangs = False

    @property
    def file(self) -> str:
        """The namespace's file in /proc, while the thread runs."""
        return f"/proc/{os.getpid()}/task/{self._thread.native_id}/ns/net"

    def open(self) -> None:
        if self._thread.ident is not None:
            raise self._closed()
        self._thread.start()
        self.call(self._enter)

    def call(self, work: Callable[[], T], what: str = "") -> T:
        """Run ``work`` in the thread and return its result; calls run one after another.

        Raises DeadlineExceeded, which names ``what`` the thread is doing, if it does not end.
        """
        if self._hangs:
            raise self._late()
        job = _Job(what or getattr(work, "__qualname__", repr(work)), work, SimpleQueue())
        self._jobs.put(job)
        for _ in range(round(CALL_S / ALIVE_CHECK_S)):  # no clock: this process may be stopped
            try:
                outcome = job.answer.get(timeout=ALIVE_CHECK_S if self._thread.is_alive() else 0)
                break
            except Empty:
                if not self._thread.is_alive():
                    raise self._closed() from None
        else:
            self._hangs = True
            raise self._late()
        if outcome.error is not None:
            raise outcome.error
        return cast("T", outcome.value)

    def netlink(self, work: Callable[[Any], T], what: str) -> T:
        """Run ``work`` with the namespace's pyroute2.IPRoute; ``what`` names it in errors."""
        with netlink_errors(what):
            return self.call(lambda: work(self._netlink), what)

    def close(self) -> None:
        """Leave the namespace, which stays mounted at ``path``. Idempotent."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join(CLOSE_S)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._doing = job.what
            try:
                outcome = _Outcome(job.work(), None)
            except BaseException as error:  # raised again in the caller
                outcome = _Outcome(None, error)
            job.answer.put(outcome)
            del job, outcome  # an idle thread must not keep references to them
        if self._netlink is not None:
            self._netlink.close()

    def _enter(self) -> None:
        unshare(CLONE_NEWNET)
        self.path.touch(mode=0o444, exist_ok=False)
        syscalls.mount("/proc/thread-self/ns/net", self.path, "", syscalls.MS_BIND)
        self._netlink = IPRoute()

    def _late(self) -> DeadlineExceeded:
        return DeadlineExceeded(
            f"namespace {self.path.name}, {self._doing}",
            f"the kernel did not end the call within {CALL_S:g} s",
            "see what the kernel waits for (dmesg), then run `culvert clean`",
        )

    def _closed(self) -> LabError:
        return LabError(
            self.path.name, "is closed", "a lab cannot be opened again: create another one"
        )


@contextmanager
def netlink_errors(what: str) -> Iterator[None]:
    """Turn an error of the kernel into a LabError."""
    try:
        yield
    except NetlinkError as error:
        raise LabError(
            what,
            f"the kernel refused: {os.strerror(error.code)} (errno {error.code})",
            "see `culvert doctor` for what this kernel can do",
        ) from error

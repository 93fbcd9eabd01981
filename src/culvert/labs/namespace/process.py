"""A process on a node of this machine."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from culvert.labs.namespace.launch import Started
from culvert.labs.namespace.usage import cpu_groups, stopped, usage_of
from culvert.labs.process import Process, Usage, not_ended
from culvert.waiting import wait_until

GONE_DEADLINE_S = 2.0
"""Longest time that the kernel may take to end a killed process."""


class LocalProcess(Process):
    """A child of this process, and the leader of its own session and process group."""

    def __init__(self, name: str, started: Started, log: Path) -> None:
        self.name = name
        self.log = log
        self.started_monotonic_ns = started.monotonic_ns
        self._popen: subprocess.Popen[bytes] = started.popen
        self._stdin, self._stdout = started.popen.stdin, started.popen.stdout
        self._pidfd = os.pidfd_open(started.popen.pid)
        self._lock = threading.Lock()
        self._groups = cpu_groups(started.popen.pid)
        self._resumptions = 0

    @property
    def pid(self) -> int:
        """Process id on this machine; programs of the node see another."""
        return self._popen.pid

    def alive(self) -> bool:
        return self.returncode() is None

    def threads(self) -> int | None:
        try:
            return sum(1 for _ in Path(f"/proc/{self.pid}/task").iterdir())
        except OSError:
            return None

    def usage(self) -> Usage | None:
        return usage_of(self.pid) if self.alive() else None

    def stopped(self) -> Sequence[int]:
        return stopped(self.pid) if self.alive() else ()

    def resumptions(self) -> int:
        """The kernel reports it to the parent, once."""
        with self._lock, suppress(ChildProcessError):  # it has ended
            if self._pidfd >= 0 and os.waitid(os.P_PIDFD, self._pidfd, os.WCONTINUED | os.WNOHANG):
                self._resumptions += 1
        return self._resumptions

    def moved_to(self) -> str | None:
        now = cpu_groups(self.pid).items() if self.alive() else ()
        return next((path for name, path in now if path != self._groups.get(name, path)), None)

    def returncode(self) -> int | None:
        with self._lock:
            if self._popen.returncode is not None:
                return self._popen.returncode
            # Not reaped before stop(): until then its id, and its group's, cannot be reused.
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            ended = os.waitid(os.P_PIDFD, self._pidfd, options)
            if ended is None:
                return None
            return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def communicate(self, given: bytes | None, *, timeout_s: float) -> tuple[bytes, bytes]:
        """Write its standard input; return standard output and error when it has closed them and
        ended. Raises DeadlineExceeded. For processes whose streams are all pipes."""
        try:
            return self._popen.communicate(given, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise not_ended(self.name, timeout_s) from None

    def wait(self, *, deadline_s: float) -> int | None:
        """Its exit code, or None if it still runs after ``deadline_s`` seconds."""
        self._exited(deadline_s)
        return self.returncode()

    def stop(self, *, grace_s: float = 2.0) -> None:
        """SIGTERM to its group, SIGKILL after the grace period; returns when all its processes have
        ended. Idempotent."""
        with self._lock:
            if self._pidfd < 0:
                return
            if self._popen.returncode is None:
                self._end_group(grace_s)
            os.close(self._pidfd)
            self._pidfd = -1
            for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
                if pipe is not None:
                    with suppress(OSError):  # unsent bytes for a reader that has ended
                        pipe.close()

    def _end_group(self, grace_s: float) -> None:
        if grace_s > 0 and not self._exited(0):
            self._signal(signal.SIGTERM)
            self._exited(grace_s)
        # Also if the leader has ended: others of its group may still run. And before it is reaped:
        # until then its id cannot be reused.
        self._signal(signal.SIGKILL)
        self._popen.wait()
        wait_until(
            lambda: not _group_alive(self.pid),
            what=f"the end of {self.name}'s process group",
            deadline_s=GONE_DEADLINE_S,
            remedy="a process in it does not end after SIGKILL: see its state with ps",
        )

    def _exited(self, timeout_s: float) -> bool:
        if self._pidfd < 0:
            return True
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        return bool(poller.poll(timeout_s * 1000))

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)


def _group_alive(group: int) -> bool:
    """Whether a process of the group runs; zombies that wait for init do not count."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] not in "ZX":
                return True
    return False

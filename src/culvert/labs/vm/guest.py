"""Runs a job in a guest: starts it, forwards its output and returns its exit code."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from culvert.errors import CulvertError, DeadlineExceeded
from culvert.files.target import make_directory
from culvert.labs.vm.hypervisor import Hypervisor
from culvert.labs.vm.job import Folder, Job, folder
from culvert.waiting import wait_until

_POLL_S = 0.05
_CONTROLS = re.compile(r"\x1b(?:\[[?\d;]*[A-Za-z]|c)")
_ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
_HELPERS_S = 5.0
_END_S = 30.0
"""Longest time for the clean-up of an interrupted command."""


def run(hypervisor: Hypervisor, job: Job, *, boot_deadline_s: float | None = None) -> int:
    """Run the job and return the exit code of its command; its output is forwarded at once.

    ``boot_deadline_s`` replaces the hypervisor's own.

    Raises CulvertError if the guest dies.
    """
    with folder() as shared, ExitStack() as stack:
        shared.write(job)
        for share in job.shares:
            make_directory(share)
        for argv in hypervisor.helpers(shared, [str(share) for share in job.shares]):
            stack.enter_context(_group(argv, hypervisor, shared, shared.path / "helpers"))
        for socket in hypervisor.awaited(shared, len(job.shares)):
            wait_until(
                socket.exists,
                what=f"the file server's socket {socket.name}",
                deadline_s=_HELPERS_S,
                remedy=f"the server printed: {_tail(shared.path / 'helpers') or 'nothing'}",
            )
        command = hypervisor.command(shared, terminal=job.terminal, shares=len(job.shares))
        console = None if job.terminal else shared.console
        guest = stack.enter_context(_group(command, hypervisor, shared, console))
        if job.terminal:
            guest.wait()
        else:
            _follow(guest, hypervisor, shared, boot_deadline_s or hypervisor.boot_deadline_s)
        code = shared.code()
        if code is None:
            raise CulvertError(
                f"the guest ({hypervisor.name}, {hypervisor.kernel})",
                _tail(shared.console) or f"ended with {guest.returncode} before its command did",
                "choose another kernel with --kernel, or report it with this message",
            )
        return code


def _await_boot(
    guest: subprocess.Popen[bytes], hypervisor: Hypervisor, shared: Folder, deadline_s: float
) -> None:
    """Wait until the guest starts the command, or has ended."""
    try:
        wait_until(
            lambda: shared.booted() or guest.poll() is not None,
            what="the guest's boot",
            deadline_s=deadline_s,
            poll_s=_POLL_S,
        )
    except DeadlineExceeded as error:
        raise CulvertError(
            f"the guest ({hypervisor.name}, {hypervisor.kernel})",
            f"did not boot within {deadline_s:g} s; "
            f"its console shows: {_tail(shared.console) or 'nothing'}",
            "use another hypervisor, such as --hypervisor uml, or another kernel with --kernel",
        ) from error


def _follow(
    guest: subprocess.Popen[bytes], hypervisor: Hypervisor, shared: Folder, boot_deadline_s: float
) -> None:
    """Forward both streams until the guest has ended; after an interrupt it first cleans up."""
    with shared.out.open("rb") as out, shared.err.open("rb") as err:
        try:
            _await_boot(guest, hypervisor, shared, boot_deadline_s)
            _pass_on(guest, out, err)
        except KeyboardInterrupt:
            shared.stop()
            _pass_on(guest, out, err, deadline=time.monotonic() + _END_S)
            raise


def _pass_on(
    guest: subprocess.Popen[bytes], out: BinaryIO, err: BinaryIO, deadline: float | None = None
) -> None:
    if guest.poll() is not None:  # its id may be another's now
        _copy(out, err)
        return
    pid = os.pidfd_open(guest.pid)
    try:
        ended = False
        while not ended:
            # The guest writes through its own kernel: there is no event when a file grows.
            ended = bool(select.select([pid], [], [], _POLL_S)[0])
            _copy(out, err)
            if deadline is not None and time.monotonic() > deadline:
                return
        guest.wait()
    finally:
        os.close(pid)


def _copy(out: BinaryIO, err: BinaryIO) -> None:
    for source, target in ((out, sys.stdout.buffer), (err, sys.stderr.buffer)):
        shutil.copyfileobj(source, target)
        target.flush()


def _tail(log: Path) -> str:
    """The last lines of a log, without terminal control sequences."""
    with suppress(OSError):
        text = _CONTROLS.sub("", log.read_text("utf-8", "replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " | ".join(lines[-3:])
    return ""


@contextmanager
def _group(
    argv: Sequence[str], hypervisor: Hypervisor, shared: Folder, log: Path | None
) -> Iterator[subprocess.Popen[bytes]]:
    """A program and its children: their own process group, ended with this process."""
    with ExitStack() as stack:
        stream = None if log is None else stack.enter_context(log.open("ab"))
        process = subprocess.Popen(
            [*_ENDS_WITH_US, *argv],
            stdin=None if log is None else subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT if log is not None else None,
            env={**os.environ, **hypervisor.environment(shared)},
            process_group=0 if log is not None else None,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()

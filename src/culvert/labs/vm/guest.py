"""Running a job in a guest: start, pass on what it says, and its exit code."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, BinaryIO

from culvert.errors import CulvertError, DeadlineExceeded, NotPossible
from culvert.labs.vm.job import Folder, Job, folder
from culvert.labs.vm.vehicle import Vehicle
from culvert.waiting import wait_until

_POLL_S = 0.05
_CONTROLS = re.compile(r"\x1b(?:\[[?\d;]*[A-Za-z]|c)")
_ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
_HELPERS_S = 5.0
_END_S = 30.0
"""How long an interrupted command may take to clean up."""


def run(vehicle: Vehicle, job: Job, *, boot_deadline_s: float | None = None) -> int:
    """The exit code of the job's command; what it writes is written as it comes.

    ``boot_deadline_s`` instead of the vehicle's own.

    Raises NotPossible where the vehicle cannot be used, CulvertError where the guest dies.
    """
    reason = vehicle.missing()
    if reason is not None:
        what, _, remedy = reason.partition(": ")
        raise NotPossible(f"a guest ({vehicle.name})", what, remedy or what)
    with folder() as shared, ExitStack() as stack:
        shared.write(job)
        for share in job.shares:
            share.mkdir(parents=True, exist_ok=True)
        for argv in vehicle.helpers(shared, [str(share) for share in job.shares]):
            stack.enter_context(_group(argv, vehicle, shared, shared.path / "helpers"))
        for socket in vehicle.awaited(shared, len(job.shares)):
            wait_until(
                socket.exists,
                what=f"the file server's socket {socket.name}",
                deadline_s=_HELPERS_S,
                remedy=f"it said: {_tail(shared.path / 'helpers') or 'nothing'}",
            )
        guest = stack.enter_context(_guest(vehicle, shared, job))
        if job.terminal:
            guest.wait()
        else:
            _follow(guest, vehicle, shared, boot_deadline_s or vehicle.boot_deadline_s)
        code = shared.code()
        if code is None:
            raise CulvertError(
                f"the guest ({vehicle.name}, {vehicle.kernel})",
                _tail(shared.console) or f"ended with {guest.returncode} before its command did",
                "give it another kernel with --kernel, or report it with these words",
            )
        return code


def _guest(vehicle: Vehicle, shared: Folder, job: Job) -> _Group:
    argv = vehicle.command(shared, terminal=job.terminal, shares=len(job.shares))
    log = None if job.terminal else shared.console
    return _group(argv, vehicle, shared, log)


def _await_boot(
    guest: subprocess.Popen[bytes], vehicle: Vehicle, shared: Folder, deadline_s: float
) -> None:
    """Until the guest starts the command, or has ended."""
    try:
        wait_until(
            lambda: shared.booted() or guest.poll() is not None,
            what="the guest's boot",
            deadline_s=deadline_s,
            poll_s=_POLL_S,
        )
    except DeadlineExceeded as error:
        raise CulvertError(
            f"the guest ({vehicle.name}, {vehicle.kernel})",
            f"did not boot within {deadline_s:g} s; it said: {_tail(shared.console) or 'nothing'}",
            "take another vehicle, such as --vehicle uml, or another kernel with --kernel",
        ) from error


def _follow(
    guest: subprocess.Popen[bytes], vehicle: Vehicle, shared: Folder, boot_deadline_s: float
) -> None:
    """Pass on both streams until the guest has ended; on an interrupt let it clean up first."""
    with shared.out.open("rb") as out, shared.err.open("rb") as err:
        try:
            _await_boot(guest, vehicle, shared, boot_deadline_s)
            _pass_on(guest, out, err)
        except KeyboardInterrupt:
            shared.stop()
            _pass_on(guest, out, err, deadline=time.monotonic() + _END_S)
            raise


def _pass_on(
    guest: subprocess.Popen[bytes], out: BinaryIO, err: BinaryIO, deadline: float | None = None
) -> None:
    pid = os.pidfd_open(guest.pid)
    try:
        ended = False
        while not ended:
            # The guest writes through its own kernel: no event tells that a file has grown.
            ended = bool(select.select([pid], [], [], _POLL_S)[0])
            for source, target in ((out, sys.stdout.buffer), (err, sys.stderr.buffer)):
                _copy(source, target)
            if deadline is not None and time.monotonic() > deadline:
                return
        guest.wait()
    finally:
        os.close(pid)


def _copy(source: BinaryIO, target: IO[bytes]) -> None:
    while chunk := source.read(1 << 16):
        target.write(chunk)
        target.flush()


def _tail(log: Path) -> str:
    """The last words of a log, without what only moves a terminal's cursor."""
    with suppress(OSError):
        text = _CONTROLS.sub("", log.read_text("utf-8", "replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " | ".join(lines[-3:])
    return ""


class _Group:
    """A program and all that it starts: a session of its own, ended with us."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def __enter__(self) -> subprocess.Popen[bytes]:
        return self.process

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()


def _group(argv: Sequence[str], vehicle: Vehicle, shared: Folder, log: Path | None) -> _Group:

    with ExitStack() as stack:
        stream = None if log is None else stack.enter_context(log.open("ab"))
        return _Group(
            subprocess.Popen(
                [*_ENDS_WITH_US, *argv],
                stdin=None if log is None else subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT if log is not None else None,
                env={**os.environ, **vehicle.environment(shared)},
                process_group=0 if log is not None else None,
            )
        )

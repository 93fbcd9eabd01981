"""Start a program through ``culvert-probe exec``, and determine when it was executed."""

from __future__ import annotations

import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from culvert.errors import LabError, NotPossible
from culvert.labs.capability import Capability, limit_to
from culvert.labs.namespace.processes import ProcessNamespace
from culvert.labs.namespace.view import Bind

START_DEADLINE_S = 30.0
_FAILED = b"culvert-probe exec: "
_JOIN = ("/bin/sh", "-c", 'echo 0 > "$0" && exec "$@"')
_STAMP = struct.Struct("<Q")

Stream = int | IO[bytes]


@dataclass(frozen=True)
class Launcher:
    """Starts programs on one node: the arguments of ``culvert-probe exec``."""

    probe: Path
    netns: Path
    binds: tuple[Bind, ...] = ()
    apart: bool = False
    """What is not bound is read-only, UTS and IPC namespaces are the program's own."""
    cpus: tuple[int, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    group: Path | None = None
    """The file of a control group to which process ids are written."""

    def command(
        self,
        argv: Sequence[str],
        *,
        stamp_fd: int,
        capabilities: AbstractSet[Capability] | None = None,
        own_processes: bool = False,
    ) -> list[str]:
        """The whole command line; with None the program has the capabilities of the lab.
        ``own_processes``: it is started in another PID namespace than this process's."""
        words = [str(self.probe), "exec", f"--netns={self.netns}", "--sysfs"]
        # What is only shown is the machine's /proc, for instruments.
        binds = [bind for bind in self.binds if not (own_processes and bind.shown)]
        words += [f"--bind={bind}" for bind in binds]
        if own_processes:
            words.append("--procfs")
        if self.apart:
            words.append("--apart")
        if self.cpus is not None:
            words.append(f"--cpus={','.join(map(str, self.cpus))}")
        if capabilities is not None:
            words.append(limit_to(capabilities))
        parent = 0 if own_processes else os.getpid()
        words += [f"--pdeathsig={parent}", f"--stamp={stamp_fd}", "--", *argv]
        # The group is joined before the execution: the program never runs without its limit.
        return [*_JOIN, str(self.group), *words] if self.group else words

    def start(
        self,
        argv: Sequence[str],
        *,
        stdin: Stream,
        stdout: Stream,
        stderr: Stream,
        env: Mapping[str, str] | None = None,
        capabilities: AbstractSet[Capability] | None = None,
        processes: ProcessNamespace | None = None,
    ) -> Started:
        """Start a program, in a PID namespace if there is one; returns after its execution. It dies
        with the calling *thread*.

        Raises NotPossible if the program is not installed, LabError if it could not be executed.
        """
        reader, writer = os.pipe2(os.O_CLOEXEC)
        command = self.command(
            argv,
            stamp_fd=writer,
            capabilities=capabilities,
            own_processes=processes is not None,
        )
        try:
            try:
                with nullcontext() if processes is None else processes.entered():
                    popen = subprocess.Popen(
                        command,
                        stdin=stdin,
                        stdout=stdout,
                        stderr=stderr,
                        env={**self.environment, **(env or {})},
                        pass_fds=(writer,),
                        cwd="/",
                    )
            finally:
                os.close(writer)
            return _await_execution(popen, reader, argv[0])
        finally:
            os.close(reader)


@dataclass(frozen=True)
class Started:
    """A program that has been executed, at ``monotonic_ns`` on CLOCK_MONOTONIC."""

    popen: subprocess.Popen[bytes]
    monotonic_ns: int


def _await_execution(popen: subprocess.Popen[bytes], reader: int, program: str) -> Started:
    deadline = time.monotonic() + START_DEADLINE_S
    report = _read_to_end(reader, deadline)
    late = time.monotonic() >= deadline
    if len(report) == _STAMP.size:
        return Started(popen, _STAMP.unpack(report)[0])
    _discard(popen)
    if late:
        why = f"it was not executed within {START_DEADLINE_S:g} s"
        raise LabError(f"start of {program}", why, "stop other programs on this machine")
    reason = report.partition(_FAILED)[2].decode(errors="replace").strip()
    if popen.returncode == 127:
        raise NotPossible(program, "the program is not installed", f"install {program}")
    raise LabError(
        f"start of {program}",
        reason or f"culvert-probe exec ended with {popen.returncode}",
        "run `culvert doctor`; rebuild with `make setup` if culvert-probe is out of date",
    )


def _read_to_end(reader: int, deadline: float) -> bytes:
    """All bytes until the other end is closed, by the execution or the end of the process."""
    poller = select.poll()
    poller.register(reader, select.POLLIN)
    report = b""
    while True:
        left_ms = (deadline - time.monotonic()) * 1000
        if left_ms <= 0 or not poller.poll(left_ms):
            return report
        chunk = os.read(reader, 4096)
        if not chunk:
            return report
        report += chunk


def _discard(popen: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, signal.SIGKILL)
    popen.kill()
    popen.wait()
    for stream in (popen.stdin, popen.stdout, popen.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()

"""linux-perf around a measurement: stacks of all processors, counted.

The processor's clock (``cpu-clock``) takes the samples: it needs no hardware counters, so it works
in virtual machines. perf follows frame pointers; programs built without them have short stacks.
"""

from __future__ import annotations

import os
import select
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from culvert.errors import CulvertError, NotPossible
from culvert.labs.process import not_ended
from culvert.machine.remedies import INFERNO
from culvert.tools import require

RATE_HZ = 499
"""Not a divisor of a second: timers of the programs do not coincide with samples."""
_SAMPLING = ("-a", "-g", "-e", "cpu-clock", "-F", str(RATE_HZ))
DEADLINE_S = 60.0
_FIELDS = "comm,pid,tid,time,event,ip,sym,dso"
KERNEL = "kernel"
"""The first frame of kernel threads and interrupts."""
OWN = "culvert"
_OTHERS = frozenset({"perf", "perf-exec", OWN})
_THREAD = "ret_from_fork_[k]"
_INTERRUPTS = ("__do_softirq", "do_softirq", "handle_softirqs")

Stacks = Counter[str]
"""Samples by stack: frames from the outermost, separated by semicolons ("folded")."""


class Perf:
    """Made once per run. Raises NotPossible if perf or inferno is missing, or perf may not see all
    processes."""

    def __init__(self) -> None:
        self._perf = str(require("perf", "apt-get install linux-perf"))
        self._collapse = str(require("inferno-collapse-perf", INFERNO))
        with in_time("perf record"):
            tried = subprocess.run(
                [self._perf, "record", *_SAMPLING, "-o", "/dev/null", "--", "true"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=DEADLINE_S,
                check=False,
            )
        if tried.returncode != 0:
            said = " ".join(tried.stderr.split())[:200]
            raise NotPossible(
                "--profile", f"perf cannot observe all processes: {said}", "run it as root"
            )

    @contextmanager
    def record(self, found: Stacks) -> Iterator[None]:
        """Sample while the body runs; ``found`` is filled when it has ended."""
        with TemporaryDirectory(prefix="culvert-perf-") as scratch:
            data = Path(scratch) / "perf.data"
            with self._sampling(data):
                yield
            found.update(of_the_lab(self._folded(data), _names()))

    @contextmanager
    def _sampling(self, data: Path) -> Iterator[None]:
        """Sampling has begun when perf has acknowledged it, and has ended when perf has."""
        control, tell = os.pipe()
        hear, answer = os.pipe()
        try:
            command = [self._perf, "record", "-q", *_SAMPLING, "-D", "-1", "-o", str(data)]
            command.append(f"--control=fd:{control},{answer}")
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(control, answer),
            )
            try:
                os.close(answer)
                answer = -1
                os.write(tell, b"enable\n")
                answered = select.poll()  # select() takes no descriptor from 1024 on
                answered.register(hear, select.POLLIN)
                # Empty when perf has ended.
                if not answered.poll(DEADLINE_S * 1000) or not os.read(hear, 16):
                    raise CulvertError("perf", "it ended before it sampled", "try perf record -a")
                yield
                with suppress(BrokenPipeError):
                    os.write(tell, b"stop\n")
                with in_time("perf record"):
                    process.wait(DEADLINE_S)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        finally:
            for descriptor in (control, tell, hear, answer):
                if descriptor >= 0:
                    os.close(descriptor)

    def _folded(self, data: Path) -> str:
        script = [self._perf, "script", "--no-inline", "-F", _FIELDS, "-i", str(data)]
        with (
            in_time("perf script"),
            subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as printing,
        ):
            try:
                done = subprocess.run(
                    [self._collapse, "--quiet", "--kernel", "--pid"],
                    stdin=printing.stdout,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=DEADLINE_S,
                    check=False,
                )
                assert printing.stdout is not None
                printing.stdout.close()  # it ends if nobody has read all of it
                printed = printing.wait(DEADLINE_S)
            finally:
                printing.kill()
        for name, code in (("inferno-collapse-perf", done.returncode), ("perf script", printed)):
            if code != 0:
                raise CulvertError(name, f"exit code {code}", "try another version")
        return done.stdout


@contextmanager
def in_time(program: str) -> Iterator[None]:
    """The body runs it to its end, within ``DEADLINE_S``. Raises DeadlineExceeded."""
    try:
        yield
    except subprocess.TimeoutExpired:
        raise not_ended(program, DEADLINE_S) from None


def _names() -> dict[str, str]:
    """Name of each process by its id: perf gives the names of threads. Without this process."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found[process.name] = (process / "comm").read_text().strip()
    return found | {str(os.getpid()): OWN}


def of_the_lab(folded: str, names: Mapping[str, str]) -> Stacks:
    """The stacks of the lab's programs, by name, and of the kernel's threads and interrupts.

    A run is in a PID namespace: perf gives what is outside, kernel threads among it, the id 0 (and
    any name). Of those only kernel threads and interrupts can work for the lab.
    """
    found = Stacks()
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        process, _, frames = stack.partition(";")
        name, _, pid = process.rpartition("-")
        if pid in ("0", "-1"):
            listed = frames.split(";")
            at_work = [frame for frame in listed if frame.startswith(_INTERRUPTS)]
            if listed[0] == _THREAD:
                found[f"{KERNEL};{frames}"] += int(count)
            elif at_work:
                inside = listed[listed.index(at_work[0]) :]
                found[f"{KERNEL};{';'.join(inside)}"] += int(count)
        elif (program := names.get(pid, name)) not in _OTHERS:
            found[f"{program};{frames}" if frames else program] += int(count)
    return found

"""What ``ansible-inventory --list`` prints. It takes a second: ``begin`` starts it early, with few
imports. It ends with this process, and may not take more memory than an inventory needs."""

from __future__ import annotations

import atexit
import os
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from culvert import tools
from culvert.errors import UsageError
from culvert.files.json_text import read_json
from culvert.labs.hosts.bounds import refuse_unusable

READ_S = 60.0
"""Longest time in which programs and plug-ins of an inventory list their hosts."""
ALONE_S = 10
"""Longest time of a processor for what Ansible alone reads: it needs 3 s for ten thousand hosts."""
MOST_PRINTED = 32 << 20
MOST_MEMORY = 2 << 30
_MOST_WORDS = 1 << 20


@dataclass(frozen=True)
class _Begun:
    """The program with its group; its output goes into files, so that a bound of the kernel holds
    for it."""

    process: subprocess.Popen[bytes]
    printed: IO[bytes]
    complained: IO[bytes]

    def end(self) -> None:
        """End all of it, with what a plug-in has started. Idempotent."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


_begun: dict[Path, _Begun] = {}


def begin(path: Path) -> None:
    """Start to read an inventory, for a later ``of``. Raises NotPossible without Ansible,
    UsageError for what is no inventory, or would become too large."""
    alone = refuse_unusable(path)
    beside = Path(sys.executable).parent / "ansible-inventory"
    program = (
        beside
        if beside.exists()
        else tools.require("ansible-inventory", f"{sys.executable} -m pip install ansible-core")
    )
    printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by ``of``
    complained = tempfile.TemporaryFile()  # noqa: SIM115
    process = subprocess.Popen(
        [str(program), "-i", str(path), "--list"],
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=complained,
        start_new_session=True,
        env={
            **os.environ,
            "LC_ALL": "C.UTF-8",
            # Otherwise a file that cannot be read is an empty inventory.
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "True",
            "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
            "ANSIBLE_FORCE_COLOR": "False",
            "ANSIBLE_NOCOLOR": "True",
        },
    )
    limits = {resource.RLIMIT_AS: MOST_MEMORY, resource.RLIMIT_FSIZE: MOST_PRINTED}
    if alone:
        limits[resource.RLIMIT_CPU] = ALONE_S
    for limit, most in limits.items():
        with suppress(ProcessLookupError):
            resource.prlimit(process.pid, limit, (most, most + 1))  # at the soft one: SIGXCPU
    _begun[path] = _Begun(process, printed, complained)
    atexit.register(_begun[path].end)


def of(path: Path) -> dict[str, Any]:
    """The inventory, from the program that was begun, if one was. Raises UsageError."""
    if path not in _begun:
        begin(path)
    begun = _begun.pop(path)
    what, see = f"inventory {path}", f"see `ansible-inventory -i {shlex.quote(str(path))} --list`"
    with begun.printed, begun.complained:
        try:
            begun.process.wait(timeout=READ_S)
        except subprocess.TimeoutExpired:
            raise UsageError(what, f"Ansible did not read it within {READ_S:g} s", see) from None
        finally:
            begun.end()
            atexit.unregister(begun.end)
        if begun.process.returncode == -signal.SIGXCPU:
            why = f"Ansible did not read it within {ALONE_S} s of a processor's time"
            raise UsageError(what, why, see)
        if begun.process.returncode == 0:
            begun.printed.seek(0)
            try:
                found = read_json(begun.printed.read())
            except ValueError as error:
                why = f"what Ansible prints of it cannot be read: {error}"
                raise UsageError(what, why, see) from error
            if isinstance(found, dict):
                return found
        begun.complained.seek(0)
        text = begun.complained.read(_MOST_WORDS).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    why = " ".join(lines[-3:]) or "it printed nothing"
    raise UsageError(what, f"Ansible cannot read it: {why}", see)

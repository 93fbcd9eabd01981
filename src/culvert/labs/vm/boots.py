"""Whether a guest boots on this machine: tried once; the result is kept until a file changes that
it depends on.

On some machines /dev/kvm exists but no guest boots: they are guests of hypervisors that emulate the
device incompletely.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from culvert.errors import CulvertError, UsageError
from culvert.files.plain import read_plain
from culvert.files.target import write
from culvert.json_text import read_json
from culvert.labs.vm import guest, places
from culvert.labs.vm.hypervisor import Hypervisor
from culvert.labs.vm.job import Job

MOST_RECORD_BYTES = 1 << 16
DEADLINE_S = 10.0
"""A working guest boots within two seconds."""


def refusal(hypervisor: Hypervisor, depends: Sequence[Path]) -> str | None:
    """Why no guest boots on this hypervisor here; None if one does. ``depends`` are files
    (programs, the kernel's image, devices); a change of them invalidates the kept result."""
    kept = places.kernels() / f"boots-{hypervisor.name}.json"
    identity = [platform.release(), *map(_identity, depends)]
    with suppress(OSError, ValueError, KeyError, TypeError, UsageError):
        record = read_json(read_plain(kept, MOST_RECORD_BYTES))
        if record["identity"] == identity:
            return str(record["refusal"]) or None
    found = _tried(hypervisor)
    # Without a record it is tried again next time.
    with suppress(OSError):
        text = json.dumps({"identity": identity, "refusal": found or ""}, indent=1)
        write(kept, f"{text}\n".encode())
    return found


def _tried(hypervisor: Hypervisor) -> str | None:
    try:
        code = guest.run(hypervisor, Job(["true"], Path("/")), boot_deadline_s=DEADLINE_S)
    except CulvertError as error:
        return error.why
    return f"a command in it ended with {code}" if code else None


def _identity(path: Path) -> str:
    """A text that changes with the file; for a device its number."""
    try:
        state = path.stat()
    except OSError:
        return f"{path}: none"
    return f"{path}: {state.st_rdev or f'{state.st_size} {state.st_mtime_ns}'}"

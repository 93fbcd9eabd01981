"""Whether a guest boots on this machine: tried once; the result is kept until a file changes that
it depends on.

On some machines /dev/kvm exists but no guest boots: they are guests of hypervisors that emulate the
device incompletely.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from culvert.errors import CulvertError
from culvert.labs.vm import guest, places
from culvert.labs.vm.job import Job
from culvert.labs.vm.vehicle import Vehicle

DEADLINE_S = 10.0
"""A working guest boots within two seconds."""


def refusal(vehicle: Vehicle, depends: Sequence[Path]) -> str | None:
    """Why no guest boots on this vehicle here; None if one does. ``depends`` are files (programs,
    the kernel's image, devices); a change of them invalidates the kept result."""
    kept = places.kernels() / f"boots-{vehicle.name}.json"
    identity = [platform.release(), *map(_identity, depends)]
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(kept.read_text("utf-8"))
        if record["identity"] == identity:
            return str(record["refusal"]) or None
    found = _tried(vehicle)
    with suppress(OSError):  # without a record it is tried again next time
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}")
        text = json.dumps({"identity": identity, "refusal": found or ""}, indent=1)
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(kept)
    return found


def _tried(vehicle: Vehicle) -> str | None:
    try:
        code = guest.run(vehicle, Job(["true"], Path("/")), boot_deadline_s=DEADLINE_S)
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

"""The lab ``vm``: the whole run happens in a guest, its nodes are namespaces there.

The guest sees the study's file as it is here and writes the journal into the shared directory, so
that a killed guest loses no more than a killed run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from culvert.labs.vm import guest
from culvert.labs.vm.choose import choose
from culvert.labs.vm.inside import Guest
from culvert.labs.vm.job import Job


def run(argv: Sequence[str], directory: Path, *, vehicle: str | None, kernel: Path | None) -> int:
    """``culvert`` with these arguments in a guest that may change ``directory`` only; exit code."""
    chosen = choose(vehicle, kernel)
    told = Guest.of(chosen)
    environment = {**told.environment, **_caller()}
    job = Job(["culvert", *argv], Path.cwd(), [directory.absolute()], environment)
    print(f"in a guest: {told.vehicle}, {told.kernel}", file=sys.stderr)
    if told.not_comparable:
        print(told.not_comparable, file=sys.stderr)
    return guest.run(chosen, job)


def _caller() -> dict[str, str]:
    """Who root is in the guest: the journal in the shared directory is that user's."""
    if os.geteuid() != 0:
        return {"SUDO_UID": str(os.geteuid()), "SUDO_GID": str(os.getegid())}
    return {name: os.environ[name] for name in ("SUDO_UID", "SUDO_GID") if name in os.environ}

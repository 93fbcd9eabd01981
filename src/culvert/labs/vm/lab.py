"""The lab ``vm``: the whole run is in a guest, and the nodes are namespaces there.

The guest reads the study's file and writes the journal into the shared directory, so that a killed
guest loses no more than a killed run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from culvert.labs.vm import guest
from culvert.labs.vm.choose import choose
from culvert.labs.vm.job import Job


def run(
    argv: Sequence[str], directory: Path, *, hypervisor: str | None, kernel: Path | None
) -> int:
    """Run ``culvert`` with these arguments in a guest that may change ``directory`` only; return
    the exit code."""
    chosen = choose(hypervisor, kernel)
    described = chosen.guest
    environment = {**described.environment, **_caller()}
    job = Job(["culvert", *argv], Path.cwd(), [directory.absolute()], environment)
    print(f"in a guest: {described.hypervisor}, {described.kernel}", file=sys.stderr)
    if described.not_comparable:
        print(described.not_comparable, file=sys.stderr)
    return guest.run(chosen, job)


def _caller() -> dict[str, str]:
    """The user that root is in the guest: this user owns the journal in the shared directory."""
    if os.geteuid() != 0:
        return {"SUDO_UID": str(os.geteuid()), "SUDO_GID": str(os.getegid())}
    return {name: os.environ[name] for name in ("SUDO_UID", "SUDO_GID") if name in os.environ}

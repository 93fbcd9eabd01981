"""``culvert vm``: build a guest kernel, run a command or a shell in a guest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from culvert.console import out, say
from culvert.errors import UsageError
from culvert.labs.vm import build, cloud, guest
from culvert.labs.vm.choose import HYPERVISORS, choose, require_machine
from culvert.labs.vm.job import Job


def build_kernel(hypervisor: str) -> dict[str, object]:
    """Build (uml) or fetch (kvm, tcg) the kernel of a hypervisor; return its properties."""
    require_machine()
    if hypervisor not in HYPERVISORS:
        raise UsageError(
            f"the hypervisor '{hypervisor}'", "is unknown", f"use {', '.join(HYPERVISORS)}"
        )
    if hypervisor == "uml":
        kernel = build.build(say)
        return {"kernel": kernel.release, "from": kernel.source, "program": str(kernel.program),
                "built_s": kernel.built_s}  # fmt: skip
    fetched = cloud.fetch(say)
    return {"kernel": fetched.release, "program": str(fetched.image)}


def run_command(
    argv: Sequence[str], *, hypervisor: str | None, kernel: Path | None, shares: Sequence[Path]
) -> int:
    """Run a command in a guest; return its exit code."""
    if not argv:
        raise UsageError("culvert vm run", "no command is given", "culvert vm run -- uname -a")
    chosen = choose(hypervisor, kernel)
    return guest.run(chosen, Job(argv, Path.cwd(), shares, chosen.guest.environment))


def shell(*, hypervisor: str | None, kernel: Path | None, shares: Sequence[Path]) -> int:
    """Run a shell in a guest, on this terminal; return its exit code."""
    chosen = choose(hypervisor, kernel)
    out.print(f"{chosen.name}, {chosen.kernel}; exit ends the guest", style="dim", markup=False)
    program = os.environ.get("SHELL", "/bin/sh")
    environment = chosen.guest.environment
    return guest.run(chosen, Job([program], Path.cwd(), shares, environment, terminal=True))

"""The lab ``vm``: the whole run is in a guest, in which the nodes are network namespaces.

The guest reads the study's file and writes the journal into the shared directory, so that a killed
guest loses no more than a killed run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from culvert.labs.kind import Elsewhere, InNamespaces, LabOption, Place
from culvert.labs.registry import DEFAULT, lab_kind

if TYPE_CHECKING:
    from culvert.study.study import Study


class Vm(Elsewhere, InNamespaces):
    """A guest whose kernel has what this one may lack."""

    name = "vm"
    summary = "namespaces of a guest kernel"
    options = (
        LabOption(
            "hypervisor",
            "Run the guest with kvm, uml or tcg; default: the first that works here.",
            "NAME",
        ),
        LabOption("kernel", "Boot this kernel instead of Culvert's own.", "PATH"),
    )

    def is_here(self) -> bool:
        """Whether this process is in a guest of Culvert."""
        from culvert.labs.guest import guest

        return guest() is not None

    def run(self, arguments: Sequence[str], directory: Path) -> int:
        """Boot a guest for it, which may change ``directory`` only."""
        from culvert.labs.vm import guest
        from culvert.labs.vm.choose import choose
        from culvert.labs.vm.job import Job

        kernel = self.given.get("kernel")
        chosen = choose(self.given.get("hypervisor"), None if kernel is None else Path(kernel))
        described = chosen.guest
        environment = {**described.environment, **_caller()}
        job = Job(["culvert", *arguments], Path.cwd(), [directory.absolute()], environment)
        print(f"in a guest: {described.hypervisor}, {described.kernel}", file=sys.stderr)
        if described.not_comparable:
            print(described.not_comparable, file=sys.stderr)
        return guest.run(chosen, job)

    def open(self, study: Study) -> AbstractContextManager[Place]:
        """The default lab, in the guest."""
        return lab_kind(DEFAULT)({}).open(study)


def _caller() -> dict[str, str]:
    """The user that root is in the guest: this user owns the journal in the shared directory."""
    if os.geteuid() != 0:
        return {"SUDO_UID": str(os.geteuid()), "SUDO_GID": str(os.getegid())}
    return {name: os.environ[name] for name in ("SUDO_UID", "SUDO_GID") if name in os.environ}

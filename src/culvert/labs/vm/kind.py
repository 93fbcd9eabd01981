"""The lab ``vm``: the whole run is in a guest, in which the nodes are network namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
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
            "Run the guest with kvm, uml or tcg; default: what works.",
            "NAME",
        ),
        LabOption("kernel", "Boot this kernel instead of Culvert's own.", "PATH"),
    )

    def is_here(self) -> bool:
        """Whether this process is in a guest of Culvert."""
        from culvert.labs.guest import guest

        return guest() is not None

    def run(self, arguments: Sequence[str], directory: Path) -> int:
        """Boot a guest for it."""
        from culvert.labs.vm import lab

        kernel = self.given.get("kernel")
        return lab.run(
            arguments,
            directory,
            hypervisor=self.given.get("hypervisor"),
            kernel=None if kernel is None else Path(kernel),
        )

    @contextmanager
    def open(self, study: Study) -> Iterator[Place]:
        """The default lab, on the guest's processors."""
        from culvert.labs import guest

        with lab_kind(DEFAULT)({}).open(study) as place:
            yield replace(place, cores=guest.processors(list(place.cores)))

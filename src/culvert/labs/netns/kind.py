"""The lab ``netns``: network namespaces of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from culvert.labs.kind import InNamespaces, OnThisMachine, Place

if TYPE_CHECKING:
    from culvert.labs.base import Lab
    from culvert.labs.room import Occupant
    from culvert.study.study import Study
    from culvert.topology.spec import LabSpec


class Netns(InNamespaces, OnThisMachine):
    """Each node is a network namespace."""

    name = "netns"
    summary = "network namespaces of this machine"

    @contextmanager
    def open(self, study: Study) -> Iterator[Place]:
        del study
        from culvert.labs.netns.limits import check
        from culvert.labs.room import Machine
        from culvert.labs.this_machine import ThisMachine

        here = Machine.here()

        def require(vpn: Occupant, spec: LabSpec) -> None:
            check(spec)
            here.require(vpn, spec)

        yield Place(_lab, here.cores, require=require, hosts=(ThisMachine(),))


def _lab(spec: LabSpec) -> Lab:
    """Imported when it is made: a dry run makes none."""
    from culvert.labs.netns.lab import NetnsLab
    from culvert.runid import new_run_id

    return NetnsLab(new_run_id(), spec)

"""The lab ``netns``: network namespaces of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from culvert.labs.kind import InNamespaces, OnThisMachine, Place

if TYPE_CHECKING:
    from culvert.study.study import Study


class Netns(InNamespaces, OnThisMachine):
    """Each node is a network namespace."""

    name = "netns"
    summary = "network namespaces of this machine"

    @contextmanager
    def open(self, study: Study) -> Iterator[Place]:
        del study
        from culvert.labs.netns.lab import NetnsLab
        from culvert.labs.room import Machine
        from culvert.runid import new_run_id

        here = Machine.here()
        yield Place(lambda spec: NetnsLab(new_run_id(), spec), here.cores, require=here.require)

"""A lab whose links are not what it says they are."""

from __future__ import annotations

from dataclasses import replace

from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec


class LyingLab(NetnsLab):
    """Its spec is ``asked``; what it builds has links like ``built``."""

    def __init__(self, asked: LabSpec, built: LinkSpec) -> None:
        super().__init__(new_run_id(), replace(asked, link=built))
        self._asked = asked

    def open(self) -> None:
        super().open()
        self.spec = self._asked

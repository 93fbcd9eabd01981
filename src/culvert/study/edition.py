"""A study or one of its scales, with all its names found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from culvert.study.claims.claim import PublishedValue
from culvert.study.claims.test import ClaimTest
from culvert.study.model import StudyFile, excluded
from culvert.study.parameters import Requested


@dataclass(frozen=True)
class Edition:
    """The whole study, or one of its scales."""

    file: StudyFile
    vpns: tuple[str, ...]
    requested: Mapping[str, tuple[Requested, ...]]
    tests: Mapping[str, ClaimTest]
    published: tuple[PublishedValue, ...]

    @property
    def cells(self) -> tuple[Requested, ...]:
        return tuple(dict.fromkeys(one for found in self.requested.values() for one in found))

    def measures(self, vpn: str, condition: str) -> bool:
        """Whether a cell of both is not excluded."""
        cells = self.requested[condition]
        return not all(excluded(self.file.exclude, vpn, condition, one) for one in cells)

"""A study or one of its scales, with all its names found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from culvert.study.claims.claim import PublishedValue
from culvert.study.claims.test import ClaimTest
from culvert.study.model import StudyFile
from culvert.study.parameters import Requested


@dataclass(frozen=True)
class Edition:
    """The whole study, or one of its scales. ``vpns`` are ids; ``requested`` holds for each
    condition's name the measurements made in it; ``tests`` are the parsed tests of claims by claim
    id."""

    file: StudyFile
    vpns: tuple[str, ...]
    requested: Mapping[str, tuple[Requested, ...]]
    tests: Mapping[str, ClaimTest] = field(default_factory=dict)
    published: tuple[PublishedValue, ...] = ()

    @property
    def cells(self) -> tuple[Requested, ...]:
        return tuple(dict.fromkeys(one for found in self.requested.values() for one in found))

    def measures(self, vpn: str, condition: str) -> bool:
        """Whether a cell of both is not excluded."""
        return not all(self.excludes(vpn, condition, one) for one in self.requested[condition])

    def excludes(self, vpn: str, condition: str, one: Requested) -> bool:
        return any(
            table.matches(vpn, condition, one.kind, one.parameters) for table in self.file.exclude
        )

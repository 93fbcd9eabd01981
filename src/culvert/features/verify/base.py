"""The contract of a test that decides a criterion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from culvert.features.criteria import Criterion
from culvert.features.verify.bench import Bench


@dataclass(frozen=True)
class Finding:
    """Whether the criterion holds; None: the test could not decide it. ``detail`` says why."""

    holds: bool | None
    detail: str


class FeatureTest(ABC):
    """One test: its name in records, its criterion, and what it does, for the documentation."""

    name: ClassVar[str]
    criterion: ClassVar[Criterion]
    text: ClassVar[str]

    @abstractmethod
    def run(self, bench: Bench) -> Finding:
        """Decide it. A CulvertError means that it could not be decided."""

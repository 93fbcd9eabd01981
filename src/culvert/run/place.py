"""Where a run's nodes come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from culvert.run.attempt import LabFactory


@dataclass(frozen=True)
class Place:
    """``cores`` are the CPUs for which a study's requests are computed; ``real_links``: the links
    are measured before each block, not made."""

    make_lab: LabFactory
    cores: Sequence[tuple[int, ...]]
    real_links: bool = False

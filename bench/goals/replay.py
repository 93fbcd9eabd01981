"""kjorveziroski2024's runs through our stopping rule: what would have been enough?

The cells without impairment, 100 runs each. A cell stops at +-2 % or at its last run. Its runs come
in the order of the file, or in that of time, which is another: ``foreign.kjorveziroski2024.order``.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from bench.goal import Goal, Samples
from bench.published import published
from culvert.journal.journal import Journal
from culvert.journal.papers.kjorveziroski2024.order import ORDER_100
from culvert.journal.papers.kjorveziroski2024.runs import PaperCell, cells
from culvert.journal.readers.formats import ForeignFormat
from culvert.journal.readers.naming import Naming
from culvert.plan.stopping import StopReason, decide
from culvert.run.importing import ImportRequest, import_files
from culvert.statistics.values import Array
from culvert.study.blocks import StopRule

RULE = StopRule.parse("ci <= 2%")
SHARE = 0.2


@dataclass(frozen=True)
class Replayed:
    """One cell: all its runs in order, and after how many of them it stopped."""

    name: str
    protocol: str
    values: Sequence[float]
    used: int
    precise: bool

    @property
    def early(self) -> float:
        """The median when it stopped."""
        return statistics.median(self.values[: self.used])

    def __str__(self) -> str:
        width = decide(RULE, {self.name: self.values[: self.used]}).cells[self.name].half_width
        width_text = "no interval" if width is None else f"+-{width:.1%}"
        return (
            f"  {self.protocol} {self.name:<20} {self.used:>3} of {len(self.values)} runs  "
            f"{width_text:<12} {self.early:6.1f} Mbit/s; all: {statistics.median(self.values):6.1f}"
            f"{'' if self.precise else '   never precise'}"
        )


class Replay(Goal):
    """Rows in the order of the file."""

    name: ClassVar[str] = "replay"
    what: ClassVar[str] = "share of kjorveziroski2024's runs that +-2 % takes"
    unit: ClassVar[str] = "1"
    goal: ClassVar[str] = "at most 20 %, the same ranking"
    in_time: ClassVar[bool] = False

    def measure(self) -> Samples:
        """Print it cell by cell."""
        found = self._replayed()
        for cell in found:
            print(cell)
        for protocol, order in _rankings(found).items():
            print(f"  {protocol}: {'the same ranking' if order else 'another ranking'}")
        used = sum(cell.used for cell in found)
        return Samples(ours=[used / sum(len(cell.values) for cell in found)])

    def met(self, samples: Samples) -> bool:
        """Both protocols rank as all the data does."""
        return samples.ours[0] <= SHARE and all(_rankings(self._replayed()).values())

    def _replayed(self) -> list[Replayed]:
        return [
            _replay(name, protocol, (cell.values if self.in_time else _as_in_file(cell)).tolist())
            for (name, protocol), cell in _runs().items()
        ]


class ReplayInTime(Replay):
    """Rows in the order in which the runs were made."""

    name: ClassVar[str] = "replay-in-time"
    what: ClassVar[str] = "the same with the runs in the order of time"
    in_time: ClassVar[bool] = True


def _rankings(found: Sequence[Replayed]) -> dict[str, bool]:
    """By protocol, whether early and final medians put the configurations in the same order."""
    same = {}
    for protocol in sorted({cell.protocol for cell in found}):
        here = [cell for cell in found if cell.protocol == protocol]
        early = sorted(here, key=lambda cell: cell.early)
        final = sorted(here, key=lambda cell: statistics.median(cell.values))
        same[protocol] = early == final
    return same


def _replay(name: str, protocol: str, values: Sequence[float]) -> Replayed:
    for used in range(1, len(values) + 1):
        # Not "stop", which leaves out a cell that drifts: it is to be +-2 % or all runs.
        if decide(RULE, {name: values[:used]}).reason is StopReason.PRECISE:
            return Replayed(name, protocol, values, used, precise=True)
    return Replayed(name, protocol, values, len(values), precise=False)


def _as_in_file(cell: PaperCell) -> Array:
    rows = [ORDER_100.index(number) for number in cell.numbers]
    return cell.values[np.argsort(rows)]


@cache
def _runs() -> dict[tuple[str, str], PaperCell]:
    """The cells without impairment, by name and protocol."""
    source = published("all-merged.csv")
    with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
        out = Path(directory) / "run"
        import_files(ImportRequest(ForeignFormat.KNB, [source], out, Naming(), ""))
        with Journal.open(out) as journal:
            found = cells(journal.trials(), journal.rows())
    return {
        (name, protocol): cell
        for (name, protocol, condition), cell in found.items()
        if condition == "clean"
    }

"""The expected duration of a run on this machine: its trials, and the links verified in a block.
The durations of trials are kept for the estimates of later runs.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from culvert import tools
from culvert.errors import CulvertError, UsageError
from culvert.files.folder import any_folder
from culvert.files.plain import read_plain
from culvert.json_text import read_json
from culvert.measurements.underlay.underlay import Underlay, UnderlayParameters
from culvert.plan.plan import Cell, Plan, TimeEstimate
from culvert.results import Parameters
from culvert.study.catalogue import Catalogue
from culvert.study.conditions.processors import cores
from culvert.study.study import Study
from culvert.study.vpn_id import BASELINE
from culvert.topology.link.spec import LinkSpec

LinkOf = Callable[[str], LinkSpec]
"""The link that a condition requests. It may raise CulvertError; the condition's trials report it.
"""
FILE = "trial-times.json"
MOST_KEPT = 5000
MOST_BYTES = 16 << 20
OVERHEAD_S = 0.5
"""Overhead of a trial (lab, tunnel, proof, removal) before any trial was timed on this machine."""


@dataclass(frozen=True)
class TrialTimes:
    """Median seconds: ``whole`` trials by cell, and their ``overhead``, the time outside the
    measurement, by VPN."""

    whole: Mapping[str, float] = field(default_factory=dict)
    overhead: Mapping[str, float] = field(default_factory=dict)

    def expected_s(self, cell: Cell, measuring_s: float) -> float:
        """A trial with its overhead; ``measuring_s`` is the measurement's own estimate."""
        known = self.whole.get(_key(cell))
        if known is not None:
            return known
        return measuring_s + self.overhead.get(cell.vpn, OVERHEAD_S)


def learned() -> TrialTimes:
    """The times kept on this machine; empty if they cannot be read."""
    try:
        return TrialTimes(**read_json(read_plain(_path(), MOST_BYTES)))
    except (OSError, UsageError, ValueError, TypeError):
        return TrialTimes()


class Stopwatch:
    """Collects the times of a run's trials."""

    def __init__(self) -> None:
        self._whole: dict[str, list[float]] = defaultdict(list)
        self._overhead: dict[str, list[float]] = defaultdict(list)

    def note(self, cell: Cell, duration_s: float, measuring_s: float) -> None:
        self._whole[_key(cell)].append(duration_s)
        self._overhead[cell.vpn].append(duration_s - measuring_s)

    def median_s(self, cell: Cell) -> float | None:
        known = self._whole.get(_key(cell))
        return statistics.median(known) if known else None

    def keep(self) -> None:
        """Add them to the times kept on this machine. A write error is ignored."""
        if not self._whole:
            return
        old = learned()
        whole, overhead = _newest(old.whole, self._whole), _newest(old.overhead, self._overhead)
        text = json.dumps({"whole": whole, "overhead": overhead})
        with suppress(OSError, UsageError), any_folder(_path().parent, make=True) as folder:
            folder.write(_path().name, text.encode())


def _newest(old: Mapping[str, float], new: Mapping[str, list[float]]) -> dict[str, float]:
    medians = {key: statistics.median(times) for key, times in new.items()}
    kept = {key: value for key, value in old.items() if key not in medians} | medians
    return dict(list(kept.items())[-MOST_KEPT:])


def _key(cell: Cell) -> str:
    return f"{cell.vpn} {cell.condition} {cell.measurement} {cell.parameters}"


def _path() -> Path:
    return tools.tools_directory() / FILE


def emulated(link_of: LinkOf, condition: str) -> bool:
    """Whether a condition requests a link with impairments or an emulated rate."""
    try:
        link = link_of(condition)
    except CulvertError:
        return False
    return bool(link.impairment) or (link.kind != "veth" and link.rate_bps is not None)


def verification_of(condition: str) -> Cell:
    """The cell that verifies the condition's link before each block, if the link is emulated."""
    parameters = UnderlayParameters.model_validate({}).model_dump(mode="json", by_alias=True)
    return Cell(BASELINE, condition, Underlay.kind, Parameters.of(parameters))


def estimate_of(
    study: Study, plan: Plan, catalogue: Catalogue, times: TrialTimes | None = None
) -> TimeEstimate:
    """The duration of the whole run, from ``times`` or from earlier runs on this machine."""
    here = cores()
    links = verifications(plan, lambda condition: study.lab_spec(condition, here).link)
    return plan.estimate(expectation(catalogue, times or learned()), links)


def expectation(catalogue: Catalogue, times: TrialTimes) -> Callable[[Cell], float]:
    """Seconds that a trial of a cell is expected to take, its overhead included."""

    def expected_s(cell: Cell) -> float:
        measurement: Any = catalogue.measurements[cell.measurement]
        parameters = catalogue.parameters(cell.measurement, cell.parameters)
        return times.expected_s(cell, measurement.estimate_s(parameters))

    return expected_s


def verifications(plan: Plan, link_of: LinkOf) -> tuple[Cell, ...]:
    """The verifications of links in each block, in addition to its cells."""
    conditions = dict.fromkeys(cell.condition for cell in plan.present)
    links = (verification_of(name) for name in conditions if emulated(link_of, name))
    return tuple(cell for cell in links if cell not in plan.present)


class Remaining:
    """``before_s`` is what a trial of a cell is expected to take before the run has measured it;
    ``verifications`` are the cells of links in each block."""

    def __init__(
        self,
        plan: Plan,
        verifications: Collection[Cell],
        stopwatch: Stopwatch,
        before_s: Callable[[Cell], float],
    ) -> None:
        self._plan = plan
        self._verifications = verifications
        self._stopwatch = stopwatch
        self._before_s = before_s

    def most_s(self, trials: int | None, elapsed_s: float, unsupported: Collection[str]) -> float:
        """The longest expected time: of so many trials, or by the budget, if the plan has these."""
        cells = [cell for cell in self._plan.present if cell.key not in unsupported]
        block_s = sum(map(self._expected_s, [*cells, *self._verifications]))
        mean_s = block_s / max(len(cells), 1)
        by_trials_s = inf if trials is None else trials * (mean_s + self._plan.pause_s)
        budget_s = inf if self._plan.budget_s is None else self._plan.budget_s
        return min(by_trials_s, max(budget_s - elapsed_s, 0.0))

    def _expected_s(self, cell: Cell) -> float:
        known_s = self._stopwatch.median_s(cell)
        return self._before_s(cell) if known_s is None else known_s

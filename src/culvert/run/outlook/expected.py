"""The expected duration of a run on this machine: its trials, and the links verified in a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from culvert.plan.cells import Cell
from culvert.plan.plan import Plan, TimeEstimate
from culvert.run.links.verifications import LinkOf, emulated, verification_of
from culvert.run.outlook.trial_times import TrialTimes, learned
from culvert.study.catalogue import Catalogue
from culvert.study.conditions.processors import cores
from culvert.study.study import Study


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
    return tuple(
        verification_of(condition) for condition in conditions if emulated(link_of, condition)
    )

"""How long a run takes on this machine: its trials, and the links that each block verifies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from culvert.plan.cells import Cell
from culvert.plan.plan import Plan, TimeEstimate
from culvert.run.trial_times import TrialTimes, learned
from culvert.run.underlays import LinkOf, emulated, verification_of
from culvert.study.catalogue import Catalogue
from culvert.study.conditions.cpus import cores
from culvert.study.study import Study


def estimate_of(
    study: Study, plan: Plan, catalogue: Catalogue, times: TrialTimes | None = None
) -> TimeEstimate:
    """Of the whole run, by ``times`` or what was learned here."""
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
    """What each block measures of the links, beside its cells."""
    conditions = dict.fromkeys(cell.condition for cell in plan.present)
    return tuple(
        verification_of(condition) for condition in conditions if emulated(link_of, condition)
    )

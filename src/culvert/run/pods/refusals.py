"""The cells of a plan that pods cannot do: found once, before the first trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from culvert.errors import NotPossible
from culvert.measurements.base import Measurement
from culvert.plan.cells import Cell
from culvert.plan.plan import Plan
from culvert.run.outlook.shortfalls import Shortfall
from culvert.run.pods.cluster import Clusters
from culvert.study.catalogue import Catalogue
from culvert.study.study import Study
from culvert.vpns import registry


def refusals(
    clusters: Clusters,
    study: Study,
    plan: Plan,
    catalogue: Catalogue,
    measurements: Mapping[str, type[Measurement[Any]]],
    cores: Sequence[tuple[int, ...]],
) -> dict[str, NotPossible]:
    """Why cells are not possible, by their keys. Raises NotPossible if none is possible, and other
    errors of the cluster."""
    found: dict[str, NotPossible] = {}
    between = [cell for cell in plan.present if not measurements[cell.measurement].of_the_link]
    for cell in between:
        try:
            clusters.require(
                registry.create(registry.parse(cell.vpn)),
                study.lab_spec(cell.condition, cores),
                measurements[cell.measurement](),
                catalogue.parameters(cell.measurement, cell.parameters),
            )
        except NotPossible as error:
            found[cell.key] = error
    if found and len(found) == len(plan.present):
        raise next(iter(found.values()))
    return found


def shortfalls_of(plan: Plan, refused: Mapping[str, NotPossible]) -> list[Shortfall]:
    """The same for people: each reason once."""
    by_reason: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in plan.cells:
        if error := refused.get(cell.key):
            by_reason.setdefault((error.what, error.why, error.remedy), []).append(cell)
    return [
        Shortfall(None, *reason, tuple(dict.fromkeys(cell.condition for cell in cells)), len(cells))
        for reason, cells in by_reason.items()
    ]

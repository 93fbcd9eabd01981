"""Requirements of a study that the machine does not meet: the cells would be unsupported."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from culvert import tools
from culvert.errors import CulvertError, NotPossible
from culvert.labs.kind import Place
from culvert.labs.room import Machine, NoRoom
from culvert.measurements.instruments.base import Instrument
from culvert.plan.plan import Cell, Plan
from culvert.run.trials.requirements import (
    NotInstalled,
    instrument_of,
    laid_out,
    require_machines,
)
from culvert.study.catalogue import installed_measurements
from culvert.study.conditions.condition import ConditionTable
from culvert.study.conditions.processors import node_cpus
from culvert.study.conditions.topology import topology_of
from culvert.study.lines import Path, line_numbers, nearest_line
from culvert.study.study import Study
from culvert.units import plural
from culvert.vpns.registry import of_study


@dataclass(frozen=True)
class Shortfall:
    """One missing requirement. ``line`` of the study's text requests it (None if it is a default);
    it makes ``cells`` cells of the study unsupported, in ``conditions``."""

    line: int | None
    what: str
    why: str
    remedy: str
    conditions: tuple[str, ...]
    cells: int

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        count = plural(self.cells, "cell")
        where = ", ".join(self.conditions)
        return (
            f"{place}{self.what}: {self.why}, so {count} ({where}) would be unsupported here: "
            f"{self.remedy}"
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def refusals(study: Study, plan: Plan, place: Machine | Place) -> dict[str, NotPossible]:
    """Cells of the plan, by key, that need what is not there: programs, features of the kernel,
    CPUs, or nodes. Cells that ``[[lacking]]`` makes unsupported are left out."""
    found: dict[str, NotPossible] = {}
    measurements = installed_measurements()

    @cache
    def machines(
        vpn: str, aes: bool | None, turbo: bool | None, instrument: Instrument
    ) -> NotPossible | None:
        """Looked at once: a driver may run its programs for it."""
        build = study.build_of(vpn)
        try:
            with nullcontext() if build is None else tools.preferring(build.directory):
                require_machines(
                    of_study(vpn), place.hosts, aes=aes, turbo=turbo, instrument=instrument
                )
        except NotPossible as error:
            return error
        return None

    for cell in plan.present:
        try:
            measurement = measurements[cell.measurement]()
            parameters = measurement.Parameters.model_validate_json(cell.parameters)
            condition = study.lab_spec(cell.condition, place.cores)
            vpn = of_study(cell.vpn)
            spec = laid_out(vpn, condition, measurement, parameters)
            place.require(vpn, spec)
            requested = spec.processors
            instrument = instrument_of(parameters)
            if error := machines(cell.vpn, requested.aes, requested.turbo, instrument):
                raise error
        except NotPossible as error:
            found[cell.key] = error
        except CulvertError:  # its trials report it
            continue
    return found


def shortfalls(study: Study, place: Machine | Place, plan: Plan | None = None) -> list[Shortfall]:
    """What the cells of the study need and the place does not have.

    ``plan`` limits it to a part of the study.
    """
    plan = plan or Plan.of(study)
    return of_refusals(study, plan, place, refusals(study, plan, place))


def of_refusals(
    study: Study, plan: Plan, place: Machine | Place, refused: Mapping[str, NotPossible]
) -> list[Shortfall]:
    """The shortfalls of a study whose refusals are known, by the key of their cell."""
    lines = {
        cell.key: _line(study, cell, refused[cell.key], place)
        for cell in plan.cells
        if cell.key in refused
    }
    return summed(plan, refused, lines)


def summed(
    plan: Plan,
    refused: Mapping[str, NotPossible],
    lines: Mapping[str, int | None] = MappingProxyType({}),
) -> list[Shortfall]:
    """Each reason once for its cells. ``lines`` are those of cells, by key."""
    found: dict[tuple[int | None, str, str, str], list[Cell]] = {}
    for cell in plan.cells:
        if error := refused.get(cell.key):
            reason = (lines.get(cell.key), error.what, error.why, error.remedy)
            found.setdefault(reason, []).append(cell)
    return [
        Shortfall(*reason, tuple(dict.fromkeys(one.condition for one in cells)), len(cells))
        for reason, cells in found.items()
    ]


def _line(study: Study, cell: Cell, error: NotPossible, place: Machine | Place) -> int | None:
    """The line on which the study requests the VPN, the topology, or the CPUs of the cell's
    condition."""
    if isinstance(error, NotInstalled):
        names = list(tomllib.loads(study.text)["vpns"])  # a scale leaves some out
        named: Path = ("vpns", names.index(cell.vpn)) if cell.vpn in names else ("vpns",)
        return nearest_line(line_numbers(study.text), named)
    if isinstance(error, NoRoom):
        return nearest_line(line_numbers(study.text), ("lab", "topology"))
    try:
        study.lab_spec(cell.condition, place.cores)
    except NotPossible:
        return _line_of_cpus(study, cell, place)
    return None


def _line_of_cpus(study: Study, cell: Cell, place: Machine | Place) -> int | None:
    name = cell.condition
    condition = study.condition(name)
    # A scale leaves conditions out, but the text contains all of them.
    tables = tomllib.loads(study.text).get("condition", [])
    index = next((at for at, table in enumerate(tables) if table.get("name") == name), None)
    key = _key(study, condition, place)
    path: Path = ("lab", "cpus") if key is None or index is None else ("condition", index, key)
    return nearest_line(line_numbers(study.text), path)


def _key(study: Study, condition: ConditionTable, place: Machine | Place) -> str | None:
    """The condition's key that cannot be fulfilled; None if it is ``cpus`` of ``[lab]``."""
    if condition.router is not None and condition.router.cores is not None:
        try:
            topology = topology_of(study.file.lab, condition)
            others = condition.model_copy(update={"router": None})
            node_cpus(study.file.lab, others, topology, place.cores)
        except NotPossible:
            pass
        else:
            return "router"
    if condition.cores is not None:
        return "cores"
    return "cpus" if condition.cpus is not None else None

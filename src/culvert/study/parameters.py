"""The parameters of a ``[[measurement]]``: arrays are crossed, and every cell is validated.

``packet_size = [64, 512]`` and ``streams = [1, 4]`` make four cells. A parameter whose value is
itself an array is not crossed; an array of arrays crosses it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from culvert.json_text import read_json
from culvert.results import Parameters, canonical_json
from culvert.study.catalogue import Catalogue
from culvert.study.conditions.condition import ConditionTable
from culvert.study.lines import Path
from culvert.study.model import MeasurementTable
from culvert.study.problems import Problem, problems_of
from culvert.study.table import known_keys, near, similar

CONGESTION = "congestion_control"
"""The parameter that a condition's ``congestion`` sets, in measurements that have it."""


@dataclass(frozen=True)
class Requested:
    """A measurement with one set of parameters, with all defaults filled in."""

    kind: str
    parameters: Parameters


def requested(
    tables: Sequence[MeasurementTable],
    condition: ConditionTable,
    catalogue: Catalogue,
    lacking: Container[str] = (),
) -> tuple[list[Requested], list[Problem]]:
    """All measurements in one condition, and all problems found in them.

    ``lacking`` are kinds that the study declares as missing: their parameters are not validated.
    """
    found: dict[Requested, None] = {}
    problems: dict[Path, Problem] = {}
    for index, table in enumerate(tables):
        here: Path = ("measurement", index)
        measurement = catalogue.measurements.get(table.kind)
        if measurement is None and table.kind not in lacking:
            path = (*here, "kind")
            why = f'there is no measurement "{table.kind}"'
            problems[path] = Problem(path, why, near(table.kind, catalogue.measurements))
            continue
        outcomes = (
            _unknown_cells(table)
            if measurement is None
            else _cells(table, condition, measurement.Parameters, here)
        )
        for outcome in outcomes:
            if isinstance(outcome, Problem):
                problems.setdefault(outcome.path, outcome)
                continue
            cell = Requested(table.kind, outcome)
            if cell in found:
                why = f"the same {table.kind} measurement is requested twice: {outcome}"
                remedy = "remove one of them"
                problems.setdefault(here, Problem(here, why, remedy, repeated=True))
            found[cell] = None
    return list(found), list(problems.values())


def canonical_values(cells: Sequence[Requested], kind: str) -> dict[str, set[str]]:
    """All values of each parameter of a kind, as canonical JSON."""
    found: dict[str, set[str]] = {}
    for one in cells:
        if one.kind == kind:
            for key, value in one.parameters.values.items():
                found.setdefault(key, set()).add(canonical_json(value))
    return found


def combinations(table: MeasurementTable, catalogue: Catalogue) -> int:
    """The number of cells that its arrays make in each condition."""
    measurement = catalogue.measurements.get(table.kind)
    model = None if measurement is None else measurement.Parameters
    known = table.given if model is None else known_keys(model)
    return math.prod(
        max(1, len(value))
        for key, value in table.given.items()
        if isinstance(value, list) and key in known and not _is_one_value(value, key, model)
    )


def takes_congestion(table: MeasurementTable, catalogue: Catalogue) -> bool:
    """Whether a condition's ``congestion`` sets a parameter of this measurement."""
    measurement = catalogue.measurements.get(table.kind)
    return measurement is not None and CONGESTION in known_keys(measurement.Parameters)


def _cells(
    table: MeasurementTable, condition: ConditionTable, model: type[BaseModel], here: Path
) -> Iterator[Parameters | Problem]:
    known = known_keys(model)
    given = table.given
    unknown = [key for key in given if key not in known]
    for key in unknown:
        why = f'the measurement "{table.kind}" has no parameter "{key}"'
        elsewhere = "" if similar(key, known) else key
        yield Problem((*here, key), why, near(key, known), unknown=elsewhere)
    if condition.congestion is not None and CONGESTION in known:
        if CONGESTION in given:
            why = f'the condition "{condition.name}" sets it as well'
            yield Problem((*here, CONGESTION), why, "set it in one place only")
            return
        given[CONGESTION] = condition.congestion
    empty = [key for key in given if given[key] == []]
    for key in empty:
        yield Problem((*here, key), "the array is empty", "add a value, or leave the key out")
    if unknown or empty:
        return
    for values, path_of in _crossed(given, model):
        yield from _validated(values, model, here, path_of)


def _unknown_cells(table: MeasurementTable) -> Iterator[Parameters]:
    """The cells of a measurement that is not installed: arrays are crossed, nothing is checked."""
    for values, _ in _crossed(table.given, None):
        yield Parameters.of(read_json(json.dumps(values, default=str)))


def _crossed(
    given: Mapping[str, Any], model: type[BaseModel] | None
) -> Iterator[tuple[dict[str, Any], dict[str, Path]]]:
    """Every combination, and for each key the path of its value in the table."""
    choices: list[list[tuple[str, Any, Path]]] = []
    for key, value in given.items():
        if isinstance(value, list) and not _is_one_value(value, key, model):
            choices.append([(key, item, (key, index)) for index, item in enumerate(value)])
        else:
            choices.append([(key, value, (key,))])
    for combination in product(*choices):
        yield (
            {key: value for key, value, _ in combination},
            {key: path for key, _, path in combination},
        )


def _is_one_value(value: list[Any], key: str, model: type[BaseModel] | None) -> bool:
    if model is None:
        return False
    field = next(f for name, f in model.model_fields.items() if (f.alias or name) == key)
    crossed = bool(value) and all(isinstance(item, list) for item in value)
    return _takes_arrays(field.annotation) and not crossed


def _takes_arrays(annotation: object) -> bool:
    if get_origin(annotation) in (list, tuple, set, frozenset, Sequence):
        return True
    return any(_takes_arrays(argument) for argument in get_args(annotation))


def _validated(
    values: dict[str, Any], model: type[BaseModel], here: Path, path_of: Mapping[str, Path]
) -> Iterator[Parameters | Problem]:
    try:
        # A date is text here, as nothing in JSON is one.
        parameters = model.model_validate_json(json.dumps(values, default=str), strict=True)
        yield Parameters.of(parameters.model_dump(mode="json", by_alias=True))
    except ValidationError as error:
        for problem in problems_of(error, values):
            first, rest = problem.path[:1], problem.path[1:]
            inside = path_of[str(first[0])] if first and first[0] in path_of else first
            yield Problem((*here, *inside, *rest), problem.why, problem.remedy)

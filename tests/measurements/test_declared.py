"""Every measurement declares its metrics, so that a claim can be checked before anything runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

import culvert.measurements
from culvert.metrics import EVERY_TRIAL, Better, MetricSpec, Weight
from culvert.results import Metric, measured
from culvert.study.catalogue import installed_measurements
from culvert.units import QuantityError, convert

MEASUREMENTS = installed_measurements()
Node = TypeVar("Node", bound=ast.AST)


LABELS = {"direction", "node", "quantile", "role", "switch", "when"}


def yielded() -> Iterator[tuple[str, str, str]]:
    """Module, name and unit of every ``Metric("name", "unit", ...)`` of the measurements."""
    for path, node in nodes(ast.Call):
        if getattr(node.func, "id", "") == "Metric":
            name, unit = (getattr(each, "value", None) for each in node.args[:2])
            if isinstance(name, str) and isinstance(unit, str):
                yield path, name, unit


def named() -> Iterator[tuple[str, str]]:
    """Module and name of every value in a function that calls ``measured``."""
    for path, function in nodes(ast.FunctionDef):
        within = list(ast.walk(function))
        calls = [one for one in within if isinstance(one, ast.Call)]
        if any(getattr(call.func, "id", "") == "measured" for call in calls):
            for each in within:
                for key in each.keys if isinstance(each, ast.Dict) else ():
                    if isinstance(key, ast.Constant) and key.value not in LABELS:
                        yield path, str(key.value)


def nodes(kind: type[Node]) -> Iterator[tuple[str, Node]]:
    """All of one kind in the measurements, with the names of their modules."""
    for path in Path(culvert.measurements.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kind):
                yield path.name, node


def test_all_that_is_yielded_is_declared() -> None:
    specs = [*EVERY_TRIAL, *(spec for each in MEASUREMENTS.values() for spec in each.metrics)]
    declared = {(spec.name, spec.unit) for spec in specs}
    names = {spec.name for spec in specs}
    found, keys = list(yielded()), list(named())
    assert len(found) + len(keys) > 100
    assert [each for each in found if each[1:] not in declared] == []
    assert [each for each in keys if each[1] not in names] == []


def test_a_measured_value_has_the_declared_unit() -> None:
    specs = (MetricSpec("rate_bps", "bit/s", "Rate"), MetricSpec("lost", "packets", "Lost"))
    found = measured(specs, {"lost": 0, "rate_bps": None}, {"node": "a"})
    assert found == [Metric("lost", "packets", 0, {"node": "a"})]
    with pytest.raises(KeyError, match="found"):
        measured(specs, {"found": 1})


@pytest.mark.parametrize("kind", MEASUREMENTS)
def test_the_headline_is_declared(kind: str) -> None:
    specs: list[MetricSpec] = MEASUREMENTS[kind].metrics
    main = [spec.name for spec in specs if spec.weight is Weight.MAIN]
    assert main == [MEASUREMENTS[kind].headline]
    assert len({spec.name for spec in specs}) == len(specs)
    assert MEASUREMENTS[kind].title


@pytest.mark.parametrize("kind", MEASUREMENTS)
def test_a_metric_of_every_trial_that_is_declared_again_differs_in_its_place_only(
    kind: str,
) -> None:
    common = {spec.name: spec for spec in EVERY_TRIAL}
    for spec in MEASUREMENTS[kind].metrics:
        if spec.name in common:
            assert replace(spec, column=None) == common[spec.name]


def test_one_name_has_one_unit_and_never_two_better_directions() -> None:
    found: dict[str, MetricSpec] = {}
    for each in MEASUREMENTS.values():
        for spec in each.metrics:
            other = found.setdefault(spec.name, spec)
            assert spec.unit == other.unit
            assert len({spec.better, other.better} - {Better.NEITHER}) <= 1


@pytest.mark.parametrize("kind", MEASUREMENTS)
def test_names_and_units_agree(kind: str) -> None:
    endings = {"_bps": "bit/s", "_us": "us", "_ms": "ms", "_s": "s", "_pps": "packets/s"}
    for spec in MEASUREMENTS[kind].metrics:
        name, unit = spec.name, spec.unit
        for ending, told in endings.items():
            if name.endswith(ending) and not name.endswith("_per_s"):
                assert (name, unit) == (name, told)


@pytest.mark.parametrize(
    ("number", "unit", "wanted", "found"),
    [(1.5, "Mbit/s", "bit/s", 1.5e6), (2, "ms", "us", 2000), (5, "%", "1", 0.05), (3, "x", "x", 3)],
)
def test_published_figures_are_converted(
    number: float, unit: str, wanted: str, found: float
) -> None:
    assert convert(number, unit, wanted) == pytest.approx(found)


@pytest.mark.parametrize(("unit", "wanted"), [("ms", "bit/s"), ("1", "ms"), ("Mbps", "bit/s")])
def test_what_cannot_be_converted(unit: str, wanted: str) -> None:
    with pytest.raises(QuantityError, match=f"cannot be converted to {wanted}"):
        convert(1.0, unit, wanted)

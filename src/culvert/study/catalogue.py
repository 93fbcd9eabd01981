"""The measurements and VPNs that a study can use: those installed as Python packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel

from culvert.errors import UsageError
from culvert.metrics import EVERY_TRIAL, MetricSpec
from culvert.study.builds import built, split_build
from culvert.topology.graph import Role
from culvert.topology.ip import IpVersion

GROUP = "culvert.measurements"


class MeasurementType(Protocol):
    """The part of a measurement class that a study uses: its kind, parameter model and metrics."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Parameters: ClassVar[type[BaseModel]]
    metrics: ClassVar[Sequence[MetricSpec]]


@dataclass(frozen=True)
class Placing:
    """A VPN's requirements on a lab: the servers that it ``needs``, the largest number of members
    (None: no limit), and the versions of IP that it supports below it."""

    needs: tuple[Role, ...] = ()
    most_members: int | None = None
    underlays: frozenset[IpVersion] = frozenset(IpVersion)


def _anywhere(vpn: str) -> Placing:
    del vpn
    return Placing()


@dataclass(frozen=True)
class Catalogue:
    """``canonical_vpn`` turns a VPN as written in a study into its id (``name/variant+option``),
    or raises UsageError with similar names; ``placing`` takes the id."""

    measurements: Mapping[str, MeasurementType]
    canonical_vpn: Callable[[str], str]
    placing: Callable[[str], Placing] = _anywhere

    def parameters(self, kind: str, parameters: str) -> BaseModel:
        """The parameters of a cell as the measurement's own model."""
        return self.measurements[kind].Parameters.model_validate_json(parameters)

    def units(self, kind: str) -> Mapping[str, str] | None:
        """Metrics and their units; None if the measurement is not installed or declares none."""
        measurement = self.measurements.get(kind)
        declared = measurement.metrics if measurement is not None else ()
        return {spec.name: spec.unit for spec in (*EVERY_TRIAL, *declared)} if declared else None


def recalled_catalogue() -> Catalogue:
    """The catalogue for the study of an existing run: VPN names are not checked, as their drivers
    may not be installed here."""
    return Catalogue(installed_measurements(), _as_written)


def _as_written(vpn: str) -> str:
    whole, build = split_build(vpn)
    base, *options = whole.split("+")
    return built("+".join((base, *sorted(options))), build)


def installed_measurements() -> dict[str, Any]:
    """Measurement classes by kind, from the entry points ``culvert.measurements``.

    Raises UsageError with the package whose measurement cannot be used.
    """
    return {entry.name: _load(entry) for entry in _entries()}


def usable_measurements() -> dict[str, Any]:
    """As ``installed_measurements``, without those that cannot be used: earlier results can still
    be shown."""
    found: dict[str, Any] = {}
    for entry in _entries():
        with suppress(UsageError):
            found[entry.name] = _load(entry)
    return found


def _entries() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


def _load(entry: EntryPoint) -> Any:
    origin = entry.dist.name if entry.dist is not None else entry.value
    remedy = f"update or remove the package {origin}"
    try:
        measurement = entry.load()
    except Exception as error:  # third-party code may raise anything while it is imported
        raise UsageError(
            f"measurement {entry.name}", f"{entry.value} cannot be loaded: {error}", remedy
        ) from error
    parameters = getattr(measurement, "Parameters", None)
    specs = getattr(measurement, "metrics", ())
    for right, why in (
        (getattr(measurement, "kind", None) == entry.name, "the kind of {} is missing or differs"),
        (
            isinstance(parameters, type) and issubclass(parameters, BaseModel),
            "{} has no pydantic model Parameters",
        ),
        (
            all(isinstance(one, MetricSpec) for one in specs),
            "the metrics of {} are not all MetricSpec",
        ),
    ):
        if not right:
            raise UsageError(f"measurement {entry.name}", why.format(entry.value), remedy)
    return measurement

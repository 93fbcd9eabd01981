"""What a study can ask for: the measurements and VPNs that are installed as Python code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel

from culvert.errors import UsageError

GROUP = "culvert.measurements"

COMMON_METRICS: Mapping[str, str] = {
    "cpu_percent": "%",
    "cpu_user_percent": "%",
    "cpu_system_percent": "%",
    "cpu_softirq_percent": "%",
    "cpu_steal_percent": "%",
    "cpu_busy_s": "s",
    "cpu_vpn_s": "s",
    "cpu_probe_s": "s",
    "cpu_s_per_gb": "s/GB",
    "cpu_vpn_s_per_gb": "s/GB",
    "cpu_probe_s_per_gb": "s/GB",
    "cpu_process_s": "s",
    "cpu_thread_s": "s",
    "cpu_kernel_thread_s": "s",
    "core_user_s": "s",
    "core_system_s": "s",
    "core_softirq_s": "s",
    "context_switches": "switches",
    "context_switches_total": "switches",
    "context_switches_most": "switches",
    "memory_peak_bytes": "bytes",
    "tunnel_up_s": "s",
    "node_cpu_s": "s",
    "node_memory_peak_bytes": "bytes",
    "node_received_packets": "packets",
    "node_received_bytes": "bytes",
}
"""What every trial may yield, with units: see measurements/cpu.py."""


class MeasurementType(Protocol):
    """What the study needs of a measurement class: its name and the model of its parameters."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Parameters: ClassVar[type[BaseModel]]
    metrics: ClassVar[Mapping[str, str]]


@dataclass(frozen=True)
class Catalogue:
    """``canonical_vpn`` turns a VPN as a study writes it into its id (``name/variant+option``),
    or raises UsageError with near matches."""

    measurements: Mapping[str, MeasurementType]
    canonical_vpn: Callable[[str], str]

    def parameters(self, kind: str, canonical_json: str) -> BaseModel:
        """The parameters of a cell as the measurement's own model."""
        return self.measurements[kind].Parameters.model_validate_json(canonical_json)

    def units(self, kind: str) -> Mapping[str, str] | None:
        """Metrics and their units; None for a measurement that is not here or declares none."""
        measurement = self.measurements.get(kind)
        declared = getattr(measurement, "metrics", None)
        return {**declared, **COMMON_METRICS} if declared else None


def recalled_catalogue() -> Catalogue:
    """For a study that was run: its VPNs are as they are written, be their drivers here or not."""
    return Catalogue(installed_measurements(), _as_written)


def _as_written(vpn: str) -> str:
    base, *options = vpn.split("+")
    return "+".join((base, *sorted(options)))


def installed_measurements() -> dict[str, Any]:
    """Measurement classes by kind, from the entry points ``culvert.measurements``.

    Raises UsageError that names the package whose measurement cannot be used.
    """
    found: dict[str, Any] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found[entry.name] = _load(entry)
    return found


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
    if getattr(measurement, "kind", None) != entry.name:
        raise UsageError(
            f"measurement {entry.name}", f"{entry.value} has another or no kind", remedy
        )
    if not (isinstance(parameters, type) and issubclass(parameters, BaseModel)):
        raise UsageError(
            f"measurement {entry.name}", f"{entry.value} has no pydantic model Parameters", remedy
        )
    return measurement

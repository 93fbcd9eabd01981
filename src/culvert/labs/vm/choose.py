"""Chooses the vehicle that runs the guest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from culvert.console import err
from culvert.errors import NotPossible, UsageError
from culvert.labs.vm.cloud import CloudKernel
from culvert.labs.vm.qemu import Kvm, Tcg
from culvert.labs.vm.uml import Uml
from culvert.labs.vm.vehicle import Vehicle

VEHICLES: dict[str, type[Kvm] | type[Uml] | type[Tcg]] = {
    kind.name: kind for kind in (Kvm, Uml, Tcg)
}
"""In the order of preference."""

_UML_MARK = b"User Mode Linux"


def _say(text: str) -> None:
    err.print(text, markup=False, style="dim")


def choose(
    name: str | None = None, kernel: Path | None = None, say: Callable[[str], None] = _say
) -> Vehicle:
    """The vehicle of that name, or the first that works here; ``kernel`` replaces Culvert's own.

    Without a name, a vehicle with all its requirements is tested by booting a guest; ``say`` prints
    the reason if none boots. Raises UsageError for an unknown name or kernel, NotPossible if no
    vehicle works.
    """
    if name is not None and name not in VEHICLES:
        raise UsageError(f"the vehicle '{name}'", "is unknown", f"use {', '.join(VEHICLES)}")
    candidates = [
        vehicle for vehicle in _candidates(kernel) if name is None or vehicle.name == name
    ]
    reasons: dict[str, str] = {}
    for vehicle in candidates:
        missing = vehicle.missing()
        reason = None if missing is None else str(missing)
        if reason is None and name is None:
            reason = vehicle.refusal()
            if reason is not None:
                say(f"{vehicle.name} is skipped, no guest boots on it here: {reason}")
        if reason is None:
            return vehicle
        reasons[vehicle.name] = reason
    why = "; ".join(f"{vehicle}: {reason}" for vehicle, reason in reasons.items())
    raise NotPossible(
        "a guest kernel", why or "this kernel is for another vehicle", "culvert vm build"
    )


def _candidates(kernel: Path | None) -> list[Vehicle]:
    if kernel is None:
        return [kind() for kind in VEHICLES.values()]
    if kernel.is_dir():
        found = CloudKernel.at(kernel)
        return [Kvm(found), Tcg(found)]
    if not kernel.is_file():
        raise UsageError(f"the kernel {kernel}", "there is no such file", "check the path")
    with kernel.open("rb") as file:
        while chunk := file.read(1 << 20):
            if _UML_MARK in chunk:
                return [Uml(kernel.resolve())]
    raise UsageError(
        f"the kernel {kernel}",
        "it is not a User Mode Linux program",
        "for QEMU give the folder of an unpacked kernel package: it needs the modules too",
    )

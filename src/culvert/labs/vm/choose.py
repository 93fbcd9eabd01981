"""Chooses the hypervisor that runs the guest."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

from culvert.console import say
from culvert.errors import NotPossible, UsageError
from culvert.labs.vm.cloud import CloudKernel
from culvert.labs.vm.hypervisor import Hypervisor
from culvert.labs.vm.qemu import Kvm, Tcg
from culvert.labs.vm.uml import Uml

HYPERVISORS: dict[str, type[Kvm] | type[Uml] | type[Tcg]] = {
    kind.name: kind for kind in (Kvm, Uml, Tcg)
}
"""In the order of preference."""

_UML_MARK = b"User Mode Linux"


def choose(
    name: str | None = None, kernel: Path | None = None, say: Callable[[str], None] = say
) -> Hypervisor:
    """The hypervisor of that name, or the first that works here; ``kernel`` replaces Culvert's own.

    Without a name, a hypervisor with all its requirements is tested by booting a guest; ``say``
    prints the reason if none boots. Raises UsageError for an unknown name or kernel, NotPossible
    if no hypervisor works.
    """
    require_machine()
    if name is not None and name not in HYPERVISORS:
        raise UsageError(f"the hypervisor '{name}'", "is unknown", f"use {', '.join(HYPERVISORS)}")
    candidates = [
        hypervisor for hypervisor in _candidates(kernel) if name is None or hypervisor.name == name
    ]
    reasons: dict[str, str] = {}
    for hypervisor in candidates:
        reason = hypervisor.missing()
        if reason is None and name is None:
            reason = hypervisor.refusal()
            if reason is not None:
                say(f"{hypervisor.name} is skipped, no guest boots on it here: {reason}")
        if reason is None:
            return hypervisor
        reasons[hypervisor.name] = reason
    why = "; ".join(f"{hypervisor}: {reason}" for hypervisor, reason in reasons.items())
    raise NotPossible(
        "a guest kernel", why or "this kernel is for another hypervisor", "culvert vm build"
    )


def require_machine() -> None:
    """Raise NotPossible on a machine for which there are no guest kernels."""
    if platform.machine() != "x86_64":
        raise NotPossible(
            "a guest kernel",
            f"guests are of x86_64, and this machine is {platform.machine()}",
            "use a kernel here, or hosts (docs/hosts.md), that have what is missing",
        )


def _candidates(kernel: Path | None) -> list[Hypervisor]:
    if kernel is None:
        return [kind() for kind in HYPERVISORS.values()]
    if kernel.is_dir():
        found = CloudKernel.at(kernel)
        return [Kvm(found), Tcg(found)]
    if not kernel.is_file():
        raise UsageError(f"the kernel {kernel}", "the file does not exist", "check the path")
    with kernel.open("rb") as file:
        while chunk := file.read(1 << 20):
            if _UML_MARK in chunk:
                return [Uml(kernel.resolve())]
    raise UsageError(
        f"the kernel {kernel}",
        "it is not a User Mode Linux program",
        "for QEMU give the folder of an unpacked kernel package: it needs the modules too",
    )

"""The CPUs that handle the machine's interrupts (the kernel's core-api/irq/irq-affinity.rst).

Interrupts belong to the whole machine, not to a node. In a guest started by Culvert, a lab moves
them and restores them at its end. Otherwise it only checks that they are on the requested CPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from culvert.errors import NotPossible
from culvert.labs.guest import guest
from culvert.machine.record.cpu import parse_cpu_list

ROOT = Path("/proc/irq")


def pin(cpus: Collection[int], root: Path = ROOT) -> Mapping[Path, str]:
    """Ensure that only these CPUs handle interrupts; return the previous state for ``restore``.

    Raises NotPossible if the kernel does not report it, if interrupts are on other CPUs of a
    machine that is not a guest, or if some cannot be moved.
    """
    files = list(_files(root))
    what = f"interrupts = {sorted(cpus)}"
    if not files:
        raise NotPossible(
            what,
            f"this kernel has no {root}/N/smp_affinity_list",
            "measure this condition on a kernel with several processors (CONFIG_SMP)",
        )
    wanted = ",".join(map(str, sorted(cpus)))
    before: dict[Path, str] = {}
    if guest() is not None:
        for file in files:
            before[file] = file.read_text().strip()
            with suppress(OSError):  # it cannot be moved; the check below finds it if needed
                file.write_text(wanted)
    astray = [file.parent for file in files if not _taken_by(file) <= set(cpus)]
    if astray:
        restore(before)
        names = ", ".join(_name(irq) for irq in astray[:3])
        raise NotPossible(
            what,
            f"{len(astray)} of {len(files)} interrupts are handled by other CPUs, such as {names}",
            "move them on the machine: "
            f"for f in {root}/*/smp_affinity_list; do echo {wanted} | sudo tee $f; done",
        )
    return before


def restore(before: Mapping[Path, str]) -> None:
    """Restore the state before ``pin``."""
    for file, text in before.items():
        with suppress(OSError):  # removed with its device, or never moved
            file.write_text(text)


def _files(root: Path) -> Iterator[Path]:
    """The affinity files of interrupts that have a handler."""
    for file in sorted(root.glob("*/smp_affinity_list")):
        if any(entry.is_dir() for entry in file.parent.iterdir()):
            yield file


def _taken_by(file: Path) -> set[int]:
    """The CPUs that handle it; the allowed ones if the kernel does not report effective ones."""
    for name in ("effective_affinity_list", file.name):
        with suppress(OSError):
            text = file.with_name(name).read_text().strip()
            if text:
                return set(parse_cpu_list(text) or ())
    return set()


def _name(irq: Path) -> str:
    handlers = " ".join(entry.name for entry in irq.iterdir() if entry.is_dir())
    return f"{irq.name} ({handlers})"

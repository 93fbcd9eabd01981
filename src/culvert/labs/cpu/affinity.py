"""Which CPUs take the machine's interrupts (the kernel's core-api/irq/irq-affinity.rst).

Interrupts belong to the whole machine, not to a node. In a guest of ours a lab moves them, and back
at its end. On a machine of its own it only sees whether they are where the condition wants them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from culvert.errors import NotPossible
from culvert.labs.vm.inside import guest

ROOT = Path("/proc/irq")


def pin(cpus: Collection[int], root: Path = ROOT) -> Mapping[Path, str]:
    """See that these CPUs alone take interrupts; what was there before, for ``restore``.

    Raises NotPossible where the kernel cannot say, where they are elsewhere on a machine of its
    own, or where some cannot be moved.
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
            with suppress(OSError):  # it cannot be moved: whether that matters is seen below
                file.write_text(wanted)
    astray = [file.parent for file in files if not _taken_by(file) <= set(cpus)]
    if astray:
        restore(before)
        names = ", ".join(_name(irq) for irq in astray[:3])
        raise NotPossible(
            what,
            f"{len(astray)} of {len(files)} interrupts are taken elsewhere, such as {names}",
            "they are the machine's to move: "
            f"for f in {root}/*/smp_affinity_list; do echo {wanted} | sudo tee $f; done",
        )
    return before


def restore(before: Mapping[Path, str]) -> None:
    """As ``pin`` found them."""
    for file, text in before.items():
        with suppress(OSError):  # gone with its device, or never moved
            file.write_text(text)


def _files(root: Path) -> Iterator[Path]:
    """Of interrupts that somebody handles."""
    for file in sorted(root.glob("*/smp_affinity_list")):
        if any(entry.is_dir() for entry in file.parent.iterdir()):
            yield file


def _taken_by(file: Path) -> set[int]:
    """The CPU that takes it is one of those that may, where the kernel tells no more than that."""
    for name in ("effective_affinity_list", file.name):
        with suppress(OSError):
            text = file.with_name(name).read_text().strip()
            if text:
                return set(_cpus(text))
    return set()


def _cpus(text: str) -> Iterator[int]:
    """Of ``0,2-3``."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _name(irq: Path) -> str:
    handlers = " ".join(entry.name for entry in irq.iterdir() if entry.is_dir())
    return f"{irq.name} ({handlers})"

"""Memory, virtualisation, and the load when the record was made."""

from __future__ import annotations

import math
from dataclasses import dataclass

from culvert.machine.tree import Tree, chosen
from culvert.privilege import machine_proc

HYPERVISORS = {
    "QEMU": "kvm or qemu",
    "KVM": "kvm or qemu",
    "Amazon EC2": "amazon",
    "Google": "google",
    "Microsoft Corporation": "hyper-v",
    "VMware, Inc.": "vmware",
    "innotek GmbH": "virtualbox",
    "Xen": "xen",
    "Parallels": "parallels",
    "Apple Inc.": "apple",
}
"""DMI vendors of guests (as systemd-detect-virt(1) knows them) and a name for each."""


@dataclass(frozen=True)
class Virtualisation:
    """``guest`` None: unknown. ``steal_ticks``: since boot, in USER_HZ."""

    guest: bool | None
    hypervisor: str | None
    container: bool
    steal_ticks: int | None


@dataclass(frozen=True)
class Memory:
    """Sizes in bytes. ``huge_pages`` is the mode of transparent huge pages."""

    total_bytes: int | None
    available_bytes: int | None
    swap_total_bytes: int | None
    huge_pages: str | None
    huge_pages_defrag: str | None
    numa_nodes: int | None


@dataclass(frozen=True)
class LoadAverage:
    """Averages over 1, 5 and 15 minutes; ``running``: tasks that could run, ours included."""

    average_1min: float | None
    average_5min: float | None
    average_15min: float | None
    running: int | None
    irqbalance_running: bool


def read_virtualisation(tree: Tree) -> Virtualisation:
    """Read the files that distinguish a guest from a physical machine."""
    cpuinfo = tree.text("/proc/cpuinfo") or ""
    flagged = any(
        line.startswith("flags") and " hypervisor" in line for line in cpuinfo.splitlines()
    )
    vendor = tree.text("/sys/class/dmi/id/sys_vendor")
    clock = tree.text("/sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    hypervisor = (
        tree.text("/sys/hypervisor/type")
        or tree.text("/proc/device-tree/hypervisor/compatible")
        or next((name for key, name in HYPERVISORS.items() if vendor and key in vendor), None)
        or ("kvm" if "kvm-clock" in clock.split() else None)
        or ("hyper-v" if "hyperv" in clock else None)
    )
    is_x86 = "\nflags" in cpuinfo or cpuinfo.startswith("flags")
    return Virtualisation(
        guest=True if flagged or (hypervisor and not is_x86) else False if is_x86 else None,
        # the vendor alone proves nothing: an Apple or Google computer may be bare metal
        hypervisor=hypervisor if flagged or not is_x86 else None,
        container=any(
            tree.exists(mark)
            for mark in ("/run/systemd/container", "/.dockerenv", "/run/.containerenv")
        ),
        steal_ticks=parse_steal(tree.text("/proc/stat") or ""),
    )


def parse_steal(stat: str) -> int | None:
    """The eighth figure of the ``cpu`` line of /proc/stat, in USER_HZ ticks."""
    for line in stat.splitlines():
        fields = line.split()
        if fields and fields[0] == "cpu":
            return int(fields[8]) if len(fields) > 8 and _is_number(fields[8]) else None
    return None


def read_memory(tree: Tree) -> Memory:
    """Read /proc/meminfo and the huge page modes."""
    sizes = parse_meminfo(tree.text("/proc/meminfo") or "")
    thp = "/sys/kernel/mm/transparent_hugepage"
    nodes = [
        name
        for name in tree.names("/sys/devices/system/node")
        if name.startswith("node") and _is_number(name[4:])
    ]
    return Memory(
        total_bytes=sizes.get("MemTotal"),
        available_bytes=sizes.get("MemAvailable"),
        swap_total_bytes=sizes.get("SwapTotal"),
        huge_pages=chosen(tree.text(f"{thp}/enabled")),
        huge_pages_defrag=chosen(tree.text(f"{thp}/defrag")),
        numa_nodes=len(nodes) or None,
    )


def parse_meminfo(text: str) -> dict[str, int]:
    """Sizes in bytes; lines without the unit kB are counts and left out."""
    sizes: dict[str, int] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        fields = value.split()
        if colon and len(fields) == 2 and fields[1] == "kB" and _is_number(fields[0]):
            sizes[key.strip()] = int(fields[0]) * 1024
    return sizes


def read_load(tree: Tree) -> LoadAverage:
    """Read the load now."""
    averages, running = parse_loadavg(tree.text("/proc/loadavg") or "")
    return LoadAverage(*averages, running=running, irqbalance_running=_runs(tree, "irqbalance"))


def parse_loadavg(
    text: str,
) -> tuple[tuple[float | None, float | None, float | None], int | None]:
    """Averages over 1, 5 and 15 minutes, and the number of tasks that could run."""
    fields = text.split()
    if len(fields) < 4:
        return (None, None, None), None
    try:
        averages = (float(fields[0]), float(fields[1]), float(fields[2]))
    except ValueError:
        return (None, None, None), None
    if not all(map(math.isfinite, averages)):
        return (None, None, None), None
    running = fields[3].partition("/")[0]
    return averages, int(running) if _is_number(running) else None


def _runs(tree: Tree, program: str) -> bool:
    proc = str(machine_proc())
    return any(
        tree.text(f"{proc}/{name}/comm") == program for name in tree.names(proc) if _is_number(name)
    )


def _is_number(text: str) -> bool:
    # 64 bits hold 19 digits; a longer number is not from the kernel
    return text.isascii() and text.isdecimal() and len(text) <= 19

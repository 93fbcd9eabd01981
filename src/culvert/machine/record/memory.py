"""Memory, virtualisation, and the load when the record was made."""

from __future__ import annotations

import re
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
_SIZE = re.compile(r"^(\S+): +(\d+) kB$", re.MULTILINE)


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
        if fields[:1] == ["cpu"] and len(fields) > 8:
            return int(fields[8])
    return None


def read_memory(tree: Tree) -> Memory:
    """Read /proc/meminfo and the huge page modes."""
    sizes = parse_meminfo(tree.text("/proc/meminfo") or "")
    thp = "/sys/kernel/mm/transparent_hugepage"
    names = tree.names("/sys/devices/system/node")
    nodes = [name for name in names if name.removeprefix("node").isdecimal()]
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
    return {key: int(value) * 1024 for key, value in _SIZE.findall(text)}


def read_load(tree: Tree) -> LoadAverage:
    """Read the load now."""
    fields = (tree.text("/proc/loadavg") or "").split()
    one, five, fifteen = map(float, fields[:3]) if fields else (None, None, None)
    running = int(fields[3].partition("/")[0]) if fields else None
    return LoadAverage(one, five, fifteen, running, _runs(tree, "irqbalance"))


def _runs(tree: Tree, program: str) -> bool:
    proc = str(machine_proc())
    return any(
        tree.text(f"{proc}/{name}/comm") == program for name in tree.names(proc) if name.isdecimal()
    )

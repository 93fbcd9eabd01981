"""The processor: its model, its instructions, and the settings that vary its speed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from culvert.machine.tree import Tree, integer

CRYPTO_FLAGS = (
    "aes", "avx", "avx2", "avx512f", "avx512ifma", "pclmulqdq", "pmull", "sha_ni", "sha1",
    "sha2", "sha512", "sha3", "ssse3", "vaes", "vpclmulqdq", "asimd", "neon", "sve", "sve2",
)  # fmt: skip
"""Instructions that ciphers use, by the names of x86 and Arm in /proc/cpuinfo."""

NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
BOOST = "/sys/devices/system/cpu/cpufreq/boost"


@dataclass(frozen=True)
class Frequency:
    """Settings of the clock. ``governors`` are those in use on any core; limits are in kHz.

    ``boost`` is None if the machine does not report it (a guest seldom does).
    """

    driver: str | None
    governors: tuple[str, ...]
    minimum_khz: int | None
    maximum_khz: int | None
    boost: bool | None
    energy_preference: str | None


@dataclass(frozen=True)
class Cpu:
    """``threads`` are the online logical CPUs, ``cores`` the distinct physical cores of them.

    ``usable_threads`` is how many of them this process may run on.
    """

    model: str | None
    sockets: int | None
    cores: int | None
    threads: int | None
    usable_threads: int
    smt_active: bool | None
    microcode: str | None
    crypto_flags: dict[str, bool] | None
    openssl_ia32cap: str | None
    frequency: Frequency
    idle_driver: str | None
    mitigations: dict[str, str]
    isolated: str | None


@dataclass(frozen=True)
class CpuRecord:
    """Values of /proc/cpuinfo, over all processors."""

    model: str | None
    microcode: str | None
    threads: int
    flags: frozenset[str]


def read_cpu(tree: Tree, variables: Mapping[str, str] = os.environ) -> Cpu:
    """Read the processor's part of the record."""
    processors = parse_cpuinfo(tree.text("/proc/cpuinfo") or "")
    online = parse_cpu_list(tree.text("/sys/devices/system/cpu/online") or "")
    places = {
        (
            tree.number(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"),
            tree.number(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id"),
        )
        for cpu in online or ()
    }
    known = {place for place in places if None not in place}
    smt = tree.number("/sys/devices/system/cpu/smt/active")
    return Cpu(
        model=processors.model,
        sockets=len({package for package, _ in known}) or None,
        cores=len(known) or None,
        threads=len(online) if online else processors.threads or None,
        usable_threads=len(os.sched_getaffinity(0)),
        smt_active=None if smt is None else smt != 0,
        microcode=processors.microcode,
        crypto_flags={flag: flag in processors.flags for flag in CRYPTO_FLAGS}
        if processors.flags
        else None,
        openssl_ia32cap=variables.get("OPENSSL_ia32cap"),
        frequency=read_frequency(tree, online or ()),
        idle_driver=tree.text("/sys/devices/system/cpu/cpuidle/current_driver"),
        mitigations={
            name: text
            for name in tree.names("/sys/devices/system/cpu/vulnerabilities")
            if (text := tree.text(f"/sys/devices/system/cpu/vulnerabilities/{name}")) is not None
        },
        isolated=tree.text("/sys/devices/system/cpu/isolated"),
    )


def read_frequency(tree: Tree, online: tuple[int, ...]) -> Frequency:
    """Read cpufreq of the online CPUs."""

    def each(name: str) -> list[str]:
        texts = (tree.text(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}") for cpu in online)
        return [text for text in texts if text is not None]

    def limits(name: str) -> list[int]:
        values = (integer(text) for text in each(name))
        return [value for value in values if value is not None]

    drivers = sorted(set(each("scaling_driver")))
    preferences = sorted(set(each("energy_performance_preference")))
    return Frequency(
        driver=drivers[0] if drivers else None,
        governors=tuple(sorted(set(each("scaling_governor")))),
        minimum_khz=min(limits("scaling_min_freq"), default=None),
        maximum_khz=max(limits("scaling_max_freq"), default=None),
        boost=read_boost(tree.number),
        energy_preference=",".join(preferences) or None,
    )


def read_boost(number: Callable[[str], int | None]) -> bool | None:
    """Whether the clock may go beyond its base: intel_pstate's no_turbo, else cpufreq's boost.
    ``number`` reads the integer of a file; None if the machine does not report it."""
    no_turbo = number(NO_TURBO)
    if no_turbo is not None:
        return no_turbo == 0
    boost = number(BOOST)
    return None if boost is None else boost != 0


def parse_cpuinfo(text: str) -> CpuRecord:
    """/proc/cpuinfo of x86 (``flags``) or Arm (``Features``); flags that every processor has."""
    model: str | None = None
    microcode: str | None = None
    threads = 0
    flags: frozenset[str] | None = None
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            continue
        key, value = key.strip(), value.strip()
        match key:
            case "processor":
                threads += 1
            case "model name" | "Model" | "cpu model":
                model = model or value or None
            case "microcode":
                microcode = microcode or value or None
            case "flags" | "Features":
                words = frozenset(value.split())
                flags = words if flags is None else flags & words
    return CpuRecord(model, microcode, threads, flags or frozenset())


def parse_cpu_list(text: str) -> tuple[int, ...] | None:
    """CPU numbers of a list such as ``0-2,5``; None if it is not a list."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        # the kernel's own limit is far below 2**16; a longer range is no list of CPUs
        if not (_is_cpu(first) and _is_cpu(last)) or int(first) > int(last):
            return None
        cpus.update(range(int(first), int(last) + 1))
    return tuple(sorted(cpus))


def _is_cpu(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 5

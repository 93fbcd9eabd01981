"""Conditions that make figures vary or operations slow, although nothing is missing."""

from __future__ import annotations

import os

from culvert.errors import CulvertError
from culvert.machine import cgroup
from culvert.machine.check import FeatureFinding, degraded, missing, present, unknown
from culvert.machine.record.cpu import read_cpu
from culvert.machine.record.kernel import parse_cgroup, read_kernel
from culvert.machine.record.memory import read_load, read_virtualisation
from culvert.machine.tree import Tree
from culvert.runid import new_run_id

CPUS_WANTED = 4
"""Sender, receiver and a VPN process at each end."""
IDLE_LOAD_PER_CPU = 0.25
QUOTA_CPUS = 0.5
PRECISE_CLOCKS = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"})


def cpus() -> FeatureFinding:
    """Sender, receiver and both ends of a VPN need a CPU each."""
    usable = len(os.sched_getaffinity(0))
    if usable < CPUS_WANTED:
        return degraded(
            f"{usable} usable CPUs: generator and VPN share them, throughput is a lower bound"
        )
    return present(f"{usable} usable CPUs")


def governor() -> FeatureFinding:
    """A clock that follows the load makes short trials slow and unequal."""
    cpu = read_cpu(Tree())
    governors = cpu.frequency.governors
    if not governors:
        return unknown(
            "this kernel does not control the clock, as in most guests",
            "on the host: sudo cpupower frequency-set -g performance",
        )
    if governors != ("performance",):
        return degraded(f"governor {', '.join(governors)}: the clock follows the load")
    return present("governor performance")


def boost() -> FeatureFinding:
    """A boosted clock depends on temperature and on what the other cores do."""
    boosting = read_cpu(Tree()).frequency.boost
    if boosting is None:
        return unknown("this machine does not report it", "check it on the host or in the firmware")
    if boosting:
        return degraded("boost is on: the clock depends on temperature and on other cores")
    return present("boost is off")


def smt() -> FeatureFinding:
    """Two threads of a core share its AES units."""
    active = read_cpu(Tree()).smt_active
    if active is None:
        return unknown("this machine does not report it", "lscpu -e shows which CPUs share a core")
    if active:
        return degraded("two threads share each core: pin nodes to different cores")
    return present("each CPU is a separate core, as far as this kernel reports")


def aes() -> FeatureFinding:
    """Without AES instructions, AES is many times slower than ChaCha20."""
    cpu = read_cpu(Tree())
    if cpu.crypto_flags is None:
        return unknown("/proc/cpuinfo has no flags", "grep -wo aes /proc/cpuinfo")
    if not cpu.crypto_flags["aes"]:
        return missing("this CPU has no AES instructions: AES variants run in plain code")
    # a capability mask that starts with ~ disables instructions (OPENSSL_ia32cap(3))
    if cpu.openssl_ia32cap is not None:
        return degraded(
            f"OPENSSL_ia32cap={cpu.openssl_ia32cap} masks instructions in every VPN that uses "
            "OpenSSL",
            "unset OPENSSL_ia32cap",
        )
    return present("this CPU has AES instructions")


def clock() -> FeatureFinding:
    """Each timestamp of the probe costs a clock reading."""
    source = read_kernel(Tree()).clocksource
    if source is None:
        return unknown("this machine does not report it", "dmesg | grep clocksource")
    if source not in PRECISE_CLOCKS:
        return degraded(f"clocksource {source}: reading the clock costs microseconds")
    return present(f"clocksource {source}")


def load() -> FeatureFinding:
    """Other work on the machine affects every figure."""
    now = read_load(Tree())
    if now.average_1min is None:
        return unknown("/proc/loadavg cannot be read", "uptime")
    threads = os.cpu_count() or 1
    if now.average_1min > IDLE_LOAD_PER_CPU * threads:
        return degraded(
            f"load average {now.average_1min:g} on {threads} CPUs: other programs are running"
        )
    return present(f"load average {now.average_1min:g} on {threads} CPUs")


def hypervisor() -> FeatureFinding:
    """A guest shares its CPUs with others."""
    machine = read_virtualisation(Tree())
    if machine.guest is None:
        return unknown("this machine does not report whether it is a guest", "systemd-detect-virt")
    if machine.guest:
        return degraded(f"a guest of {machine.hypervisor or 'an unknown hypervisor'}")
    return present("no hypervisor under this kernel")


def cgroups() -> FeatureFinding:
    """Limits per node are set in control groups."""
    version = parse_cgroup(Tree().text("/proc/self/mounts") or "")
    if version is None:
        return missing("no control groups are mounted")
    return present(f"control groups {version}")


def cpu_quota() -> FeatureFinding:
    """A control group is created, given a quota and removed."""
    try:
        with cgroup.trial(f"culvert-{new_run_id()}-doctor") as group:
            group.limit(QUOTA_CPUS)
    except CulvertError as error:
        if isinstance(error.__cause__, PermissionError):
            raise error.__cause__ from error  # not tried, so unknown
        return missing(error.why)
    return present(f"control groups {group.version} limit programs, but not the kernel's own work")

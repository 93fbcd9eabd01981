"""How well the kernel accounts CPU time, and whether it runs guests."""

from __future__ import annotations

import fcntl
import gzip
import os
import time
from pathlib import Path

from culvert.machine.check import FeatureFinding, missing, present, unknown
from culvert.machine.tree import Tree

KVM = Path("/dev/kvm")
KVM_GET_API_VERSION = 0xAE00
KVM_CREATE_VM = 0xAE01
KVM_API_VERSION = 12
"""linux/kvm.h; the version is fixed since Linux 2.6.22."""

BUSY_S = 0.002


def irq_time() -> FeatureFinding:
    """Whether interrupt time is measured or sampled by the tick, from the kernel's
    configuration."""
    options = kernel_configuration()
    if options is None:
        return unknown(
            "the kernel's configuration cannot be read",
            "grep IRQ_TIME_ACCOUNTING /boot/config-$(uname -r)",
        )
    if "CONFIG_IRQ_TIME_ACCOUNTING" in options:
        return present("interrupt time is measured at each interrupt")
    if "CONFIG_VIRT_CPU_ACCOUNTING_GEN" in options or (
        "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE" in options
    ):
        return present("CPU time is measured at each change of context")
    return missing("interrupt time is sampled by the tick: softirq figures are estimates")


def scheduler_statistics() -> FeatureFinding:
    """CPU time per thread in nanoseconds, and its time of waiting for a CPU."""

    def run_ns() -> int | None:
        fields = (Tree().text("/proc/thread-self/schedstat") or "").split()
        return int(fields[0]) if len(fields) == 3 else None

    before = run_ns()
    end = time.thread_time() + BUSY_S
    while time.thread_time() < end:
        pass
    os.sched_yield()  # the scheduler updates the figure when it runs
    after = run_ns()
    if before is None or after is None:
        return missing("no /proc/PID/schedstat: CPU time per thread comes in ticks of 10 ms")
    if after <= before:
        return missing("/proc/PID/schedstat does not change")
    return present("CPU time and waiting time per thread in nanoseconds")


def kvm() -> FeatureFinding:
    """An empty guest is created and dropped."""
    if not KVM.exists():
        return missing(f"{KVM} does not exist")
    with KVM.open("r+b", buffering=0) as device:
        version = fcntl.ioctl(device, KVM_GET_API_VERSION)
        if version != KVM_API_VERSION:
            return missing(f"{KVM} has API version {version}, not {KVM_API_VERSION}")
        os.close(fcntl.ioctl(device, KVM_CREATE_VM, 0))
    return present("an empty guest was created")


def kernel_configuration() -> frozenset[str] | None:
    """Names of the options that are y or m in the running kernel; None if its configuration is
    unknown."""
    tree = Tree()
    try:
        text: str | None = gzip.decompress(tree.path("/proc/config.gz").read_bytes()).decode()
    except OSError:
        release = tree.text("/proc/sys/kernel/osrelease")
        text = tree.text(f"/boot/config-{release}") or tree.text(f"/lib/modules/{release}/config")
    return parse_configuration(text) if text else None


def parse_configuration(text: str) -> frozenset[str]:
    """Names of the options that are y or m."""
    return frozenset(
        name
        for name, equals, value in (line.strip().partition("=") for line in text.splitlines())
        if equals and value in {"y", "m"} and name.startswith("CONFIG_")
    )

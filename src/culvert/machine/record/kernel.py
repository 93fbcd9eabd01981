"""The kernel, its distribution, and the modules that carry VPN traffic."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

from culvert.machine.tree import Tree, chosen

PARAMETERS = frozenset(
    {
        "clocksource",
        "idle",
        "intel_idle.max_cstate",
        "intel_pstate",
        "amd_pstate",
        "irqaffinity",
        "isolcpus",
        "mitigations",
        "nohz",
        "nohz_full",
        "noibrs",
        "nopti",
        "nosmt",
        "nospectre_v1",
        "nospectre_v2",
        "pti",
        "preempt",
        "processor.max_cstate",
        "rcu_nocbs",
        "spectre_v2",
        "threadirqs",
        "transparent_hugepage",
        "tsc",
    }
)
"""Boot parameters that change performance; the others may name disks, addresses or people."""

MODULES = (
    "act_mirred", "aesni_intel", "aesce", "af_packet", "ah4", "chacha20poly1305",
    "chacha_x86_64", "curve25519_x86_64", "esp4", "esp4_offload", "ghash_clmulni_intel",
    "ip_gre", "ip_vti", "libchacha20poly1305", "nf_conntrack", "nf_nat", "nf_tables",
    "ovpn", "ovpn_dco_v2", "sch_cake", "sch_fq", "sch_fq_codel", "sch_netem", "sch_tbf", "tcp_bbr",
    "tcp_cubic", "tls", "tun", "veth", "vxlan", "wireguard", "xfrm_interface", "xfrm_user",
)  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """``version`` is the build's (#1 SMP ...), without who built it. ``modules`` maps the name of
    a loaded module to its version, None if it has none. Built-in code without parameters does not
    appear, so absence proves nothing."""

    release: str | None
    version: str | None
    architecture: str
    parameters: dict[str, str | None]
    tainted: int | None
    clocksource: str | None
    clocksources: tuple[str, ...]
    preemption: str | None
    cgroup: str | None
    sched_autogroup: bool | None
    modules: dict[str, str | None]


@dataclass(frozen=True)
class OsRelease:
    """From os-release(5)."""

    id: str | None
    version: str | None
    name: str | None


def read_kernel(tree: Tree) -> Kernel:
    """Read the kernel's part of the record."""
    autogroup = tree.number("/proc/sys/kernel/sched_autogroup_enabled")
    available = tree.text("/sys/devices/system/clocksource/clocksource0/available_clocksource")
    version = tree.text("/proc/sys/kernel/version")
    return Kernel(
        release=tree.text("/proc/sys/kernel/osrelease"),
        version=version,
        architecture=os.uname().machine,
        parameters=parse_parameters(tree.text("/proc/cmdline") or ""),
        tainted=tree.number("/proc/sys/kernel/tainted"),
        clocksource=tree.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clocksources=tuple((available or "").split()),
        # debugfs is more exact, if it is mounted and readable
        preemption=chosen(tree.text("/sys/kernel/debug/sched/preempt"))
        or parse_preemption(version or ""),
        cgroup=parse_cgroup(tree.text("/proc/self/mounts") or ""),
        sched_autogroup=None if autogroup is None else autogroup != 0,
        modules={
            module: tree.text(f"/sys/module/{module}/version")
            for module in MODULES
            if tree.exists(f"/sys/module/{module}")
        },
    )


def parse_preemption(version: str) -> str | None:
    """The preemption model from the kernel's build string."""
    for word, model in (
        ("PREEMPT_RT", "rt"),
        ("PREEMPT_DYNAMIC", "dynamic"),
        ("PREEMPT", "full"),
    ):
        if word in version:
            return model
    return None


def parse_parameters(command_line: str) -> dict[str, str | None]:
    """Boot parameters that change performance; None for a parameter without a value."""
    found: dict[str, str | None] = {}
    for word in command_line.split():
        key, equals, value = word.partition("=")
        key = key.replace("-", "_") if key.replace("-", "_") in PARAMETERS else key
        if key in PARAMETERS:
            found[key] = value if equals else None
    return found


def parse_cgroup(mounts: str) -> str | None:
    """``v2``, ``v1`` or ``hybrid`` from mounts as in proc(5); None if none is mounted."""
    kinds = {line.split()[2] for line in mounts.splitlines()}
    if "cgroup" not in kinds:
        return "v2" if "cgroup2" in kinds else None
    return "hybrid" if "cgroup2" in kinds else "v1"


def read_distribution() -> OsRelease:
    """That of the system; without a value if it has no os-release(5)."""
    try:
        values = platform.freedesktop_os_release()
    except (OSError, UnicodeDecodeError):
        values = {}
    return OsRelease(
        id=values.get("ID"), version=values.get("VERSION_ID"), name=values.get("PRETTY_NAME")
    )

"""Checks that read the machine: CPU, clock, load, accounting."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.machine import remedies
from culvert.machine.check import FeatureStatus
from culvert.machine.tree import Tree
from culvert.machine.trials import accounting, steadiness
from culvert.machine.trials.accounting import parse_configuration


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine that the checks read instead of this one."""
    for module in (steadiness, accounting, remedies):
        monkeypatch.setattr(module, "Tree", lambda: Tree(tmp_path))
    return tmp_path


def put(machine: Path, path: str, text: str) -> None:
    (machine / path).parent.mkdir(parents=True, exist_ok=True)
    (machine / path).write_text(text)


CPU = "sys/devices/system/cpu"


@pytest.mark.parametrize(
    ("governors", "status"),
    [
        ((), FeatureStatus.UNKNOWN),
        (("performance", "performance"), FeatureStatus.PRESENT),
        (("performance", "powersave"), FeatureStatus.DEGRADED),
        (("schedutil", "schedutil"), FeatureStatus.DEGRADED),
    ],
)
def test_the_governor_has_a_status(
    machine: Path, governors: tuple[str, ...], status: FeatureStatus
) -> None:
    put(machine, f"{CPU}/online", "0-1")
    for cpu, name in enumerate(governors):
        put(machine, f"{CPU}/cpu{cpu}/cpufreq/scaling_governor", name)

    assert steadiness.governor().status is status


@pytest.mark.parametrize(
    ("file", "text", "status"),
    [
        ("intel_pstate/no_turbo", "1", FeatureStatus.PRESENT),
        ("intel_pstate/no_turbo", "0", FeatureStatus.DEGRADED),
        ("cpufreq/boost", "1", FeatureStatus.DEGRADED),
        ("cpufreq/boost", "0", FeatureStatus.PRESENT),
        ("cpufreq/other", "0", FeatureStatus.UNKNOWN),
    ],
)
def test_boost_has_a_status(machine: Path, file: str, text: str, status: FeatureStatus) -> None:
    put(machine, f"{CPU}/{file}", text)

    assert steadiness.boost().status is status


def test_aes_is_present_missing_or_unknown(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENSSL_ia32cap", raising=False)
    assert steadiness.aes().status is FeatureStatus.UNKNOWN

    put(machine, "proc/cpuinfo", "flags : fpu sse2\n")
    assert steadiness.aes().status is FeatureStatus.MISSING

    put(machine, "proc/cpuinfo", "flags : fpu aes\n")
    assert steadiness.aes().status is FeatureStatus.PRESENT


def test_a_mask_on_openssl_is_noticed(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(machine, "proc/cpuinfo", "flags : fpu aes\n")
    monkeypatch.setenv("OPENSSL_ia32cap", "~0x200000200000000")

    assert steadiness.aes().status is FeatureStatus.DEGRADED
    assert "~0x200000200000000" in steadiness.aes().detail


@pytest.mark.parametrize(
    ("source", "status"), [("tsc", FeatureStatus.PRESENT), ("hpet", FeatureStatus.DEGRADED)]
)
def test_the_clock_source_has_a_status(machine: Path, source: str, status: FeatureStatus) -> None:
    assert steadiness.clock().status is FeatureStatus.UNKNOWN

    put(machine, "sys/devices/system/clocksource/clocksource0/current_clocksource", source)
    assert steadiness.clock().status is status


@pytest.mark.parametrize(
    ("load", "status"), [("0.01", FeatureStatus.PRESENT), ("999", FeatureStatus.DEGRADED)]
)
def test_the_load_has_a_status(machine: Path, load: str, status: FeatureStatus) -> None:
    assert steadiness.load().status is FeatureStatus.UNKNOWN

    put(machine, "proc/loadavg", f"{load} 0 0 1/2 3\n")
    assert steadiness.load().status is status


def test_control_groups_are_present_or_missing(machine: Path) -> None:
    assert steadiness.cgroups().status is FeatureStatus.MISSING

    put(machine, "proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    assert steadiness.cgroups().status is FeatureStatus.PRESENT


def test_smt_and_guest(machine: Path) -> None:
    assert steadiness.smt().status is FeatureStatus.UNKNOWN
    assert steadiness.hypervisor().status is FeatureStatus.UNKNOWN

    put(machine, f"{CPU}/smt/active", "1")
    put(machine, "proc/cpuinfo", "flags : fpu hypervisor\n")
    assert steadiness.smt().status is FeatureStatus.DEGRADED
    assert steadiness.hypervisor().status is FeatureStatus.DEGRADED


CONFIGURATION = "# CONFIG_NO is not set\nCONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_M=m\nCONFIG_HZ=250\n"


def test_kernel_options_are_read_from_the_configuration() -> None:
    assert parse_configuration(CONFIGURATION) == {"CONFIG_IRQ_TIME_ACCOUNTING", "CONFIG_M"}


@given(st.text())
def test_any_configuration_is_read(text: str) -> None:
    assert all(name.startswith("CONFIG_") for name in parse_configuration(text))


def test_where_the_configuration_is(machine: Path) -> None:
    assert accounting.irq_time().status is FeatureStatus.UNKNOWN

    put(machine, "proc/sys/kernel/osrelease", "6.1-x\n")
    put(machine, "boot/config-6.1-x", "CONFIG_M=m\n")
    assert accounting.irq_time().status is FeatureStatus.MISSING

    (machine / "proc/config.gz").write_bytes(gzip.compress(CONFIGURATION.encode()))
    assert accounting.irq_time().status is FeatureStatus.PRESENT


def test_scheduler_statistics_of_this_machine() -> None:
    there = Path("/proc/self/schedstat").exists()

    assert accounting.scheduler_statistics().status is (
        FeatureStatus.PRESENT if there else FeatureStatus.MISSING
    )


def test_modprobe_is_offered_only_where_there_are_modules(machine: Path) -> None:
    put(machine, "proc/sys/kernel/osrelease", "6.1-x\n")
    assert "modprobe" not in remedies.kernel("sch_netem", "CONFIG_NET_SCH_NETEM")

    put(machine, "lib/modules/6.1-x/modules.dep", "")
    assert remedies.kernel("sch_netem", "CONFIG_NET_SCH_NETEM", "the wire").startswith(
        "sudo modprobe sch_netem, or boot a kernel with CONFIG_NET_SCH_NETEM"
    )
    assert remedies.kernel("sch_netem", "X", "the wire").endswith("or use the wire")

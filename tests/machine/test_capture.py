"""The record as a whole: from a machine made of files, from an empty one, and from this one."""

from __future__ import annotations

import getpass
import json
import socket
from dataclasses import asdict
from pathlib import Path

import pytest

from culvert.machine.record import capture, observe
from culvert.machine.tree import Tree

LAPTOP = {
    "proc/sys/kernel/osrelease": "6.12.5-amd64\n",
    "proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian 6.12.5-1 (2025-01-01)\n",
    "proc/sys/kernel/sched_autogroup_enabled": "0\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1234-abcd ip=192.0.2.7 nosmt mitigations=off\n",
    "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n",
    "proc/cpuinfo": (
        "processor\t: 0\nmodel name\t: Example CPU 9000\nflags\t\t: fpu aes avx\n\n"
        "processor\t: 1\nmodel name\t: Example CPU 9000\nflags\t\t: fpu aes\n"
    ),
    "proc/meminfo": "MemTotal:       16000 kB\nMemAvailable:    8000 kB\nHugePages_Total:   3\n",
    "proc/loadavg": "0.50 0.40 0.30 2/345 6789\n",
    "proc/stat": "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
    "proc/77/comm": "irqbalance\n",
    "proc/sys/net/core/rmem_max": "212992\n",
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic\n",
    "sys/devices/system/cpu/online": "0-1\n",
    "sys/devices/system/cpu/smt/active": "1\n",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
    "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
    "sys/devices/system/cpu/cpu1/topology/physical_package_id": "0\n",
    "sys/devices/system/cpu/cpu1/topology/core_id": "0\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq": "4200000\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
    "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/kernel/debug/sched/preempt": "none (voluntary) full \n",
    "sys/class/dmi/id/sys_vendor": "Apple Inc.\n",
    "sys/module/wireguard/version": "1.0.0\n",
}


def tree(root: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(root)


def test_the_record_of_a_laptop_is_complete(tmp_path: Path) -> None:
    laptop = observe(tree(tmp_path, LAPTOP))

    assert laptop.kernel.release == "6.12.5-amd64"
    assert laptop.kernel.parameters == {"nosmt": None, "mitigations": "off"}
    assert laptop.kernel.preemption == "voluntary"
    assert laptop.kernel.cgroup == "v2"
    assert laptop.kernel.sched_autogroup is False
    assert laptop.kernel.modules == {"wireguard": "1.0.0"}
    assert laptop.cpu.model == "Example CPU 9000"
    assert (laptop.cpu.sockets, laptop.cpu.cores, laptop.cpu.threads) == (1, 1, 2)
    assert laptop.cpu.smt_active is True
    assert laptop.cpu.crypto_flags is not None
    assert laptop.cpu.crypto_flags["aes"] is True
    assert laptop.cpu.crypto_flags["avx"] is False, "one of the two processors lacks it"
    assert laptop.cpu.frequency.driver == "intel_pstate"
    assert laptop.cpu.frequency.governors == ("performance", "powersave")
    assert laptop.cpu.frequency.maximum_khz == 4_200_000
    assert laptop.cpu.frequency.boost is False
    assert laptop.cpu.mitigations == {"meltdown": "Mitigation: PTI"}
    assert laptop.memory.total_bytes == 16_000 * 1024
    assert laptop.memory.huge_pages == "madvise"
    assert laptop.virtualisation.guest is False
    assert laptop.virtualisation.hypervisor is None, "a vendor alone does not make a guest"
    assert laptop.virtualisation.steal_ticks == 8
    assert laptop.network.tcp_rmem_bytes == (4096, 131072, 6291456)
    assert laptop.network.tcp_congestion_controls == ("cubic", "reno")
    assert laptop.load.average_1min == 0.5
    assert laptop.load.running == 2
    assert laptop.load.irqbalance_running is True


def test_addresses_and_disks_on_the_command_line_stay_out(tmp_path: Path) -> None:
    text = json.dumps(asdict(observe(tree(tmp_path, LAPTOP))))

    assert "192.0.2.7" not in text
    assert "1234-abcd" not in text


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    nothing = observe(Tree(tmp_path))

    assert nothing.kernel.release is None
    assert nothing.cpu.threads is None
    assert nothing.cpu.crypto_flags is None
    assert nothing.memory.total_bytes is None
    assert nothing.virtualisation.guest is None
    assert nothing.network.tcp_rmem_bytes is None
    assert nothing.load.average_1min is None
    json.dumps(asdict(nothing))


@pytest.mark.parametrize(
    ("vendor", "hypervisor"), [("QEMU", "kvm or qemu"), ("VMware, Inc.", "vmware"), ("?", None)]
)
def test_a_guest_is_named_by_its_vendor(
    tmp_path: Path, vendor: str, hypervisor: str | None
) -> None:
    files = {
        "proc/cpuinfo": "processor : 0\nflags : fpu hypervisor aes\n",
        "sys/class/dmi/id/sys_vendor": vendor,
    }
    guest = observe(tree(tmp_path, files)).virtualisation

    assert guest.guest is True
    assert guest.hypervisor == hypervisor


def test_the_record_of_this_machine_is_plausible_json() -> None:
    record = capture()

    assert record == json.loads(json.dumps(record)), "nothing but JSON's types"
    assert record["kernel"]["release"] == Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert record["cpu"]["threads"] >= record["cpu"]["usable_threads"] >= 1
    assert record["memory"]["total_bytes"] > record["memory"]["available_bytes"] > 0
    assert record["software"]["libcrypto"] is None or "SSL" in record["software"]["libcrypto"]


def _texts(value: object) -> list[str]:
    match value:
        case dict():
            return [text for key, inner in value.items() for text in (str(key), *_texts(inner))]
        case list():
            return [text for inner in value for text in _texts(inner)]
        case _:
            return [str(value)]


def test_this_machine_is_not_named() -> None:
    macs = [
        path.read_text().strip()
        for path in Path("/sys/class/net").glob("*/address")
        if path.read_text().strip() not in {"", "00:00:00:00:00:00"}
    ]
    record = capture()
    del record["distribution"]  # a host named debian would be found there
    texts = _texts(record)

    assert socket.gethostname() not in texts
    assert getpass.getuser() not in texts
    assert not [mac for mac in macs if any(mac in text for text in texts)]

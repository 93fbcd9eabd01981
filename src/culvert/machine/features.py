"""Every feature that labs, VPNs and measurements need, each with its trial.

Drivers and labs call ``features.has("esp")``; a trial runs once per process.
"""

from __future__ import annotations

from functools import cache

from culvert import tools
from culvert.errors import UsageError
from culvert.machine import without_root
from culvert.machine.check import (
    AS_ROOT,
    Feature,
    FeatureCheck,
    FeatureFinding,
    FeatureGroup,
    FeatureStatus,
    Trial,
    find,
    missing,
    present,
)
from culvert.machine.remedies import INFERNO, install, kernel
from culvert.machine.trials import accounting, commands, privileges, sockets, steadiness, tun
from culvert.privilege import with_sudo

_PRIVILEGES, _LAB, _VPN = FeatureGroup.PRIVILEGES, FeatureGroup.LAB, FeatureGroup.VPN
_IMPAIRMENT, _MEASUREMENT = FeatureGroup.IMPAIRMENT, FeatureGroup.MEASUREMENT
_PROGRAM, _STEADINESS = FeatureGroup.PROGRAM, FeatureGroup.STEADINESS
_LABS = "every lab"
_OF_A_CARD = "udp at high packet rates"
_WIRE = 'link = "wire"'
_IN_USER_SPACE = "strongswan in user space"


def _tried(
    group: FeatureGroup, name: str, needed_by: str, module: str, option: str, instead: str = ""
) -> Feature:
    """A part of the kernel that ``trials.commands`` tries."""
    remedy = kernel(module, option, instead)
    return Feature(name, group, (needed_by,), remedy, commands.trial(name), scratch=True)


def _program(name: str, remedy: str, *needed_by: str) -> Feature:
    def trial() -> FeatureFinding:
        path = tools.find(name)
        return missing("not found") if path is None else present(str(path))

    return Feature(name, _PROGRAM, needed_by, remedy, trial)


def _congestion_control(name: str, option: str) -> Feature:
    remedy, trial = kernel(f"tcp_{name}", option), sockets.congestion_control(name)
    return Feature(name, _MEASUREMENT, (f"tcp with {name}",), remedy, trial, scratch=True)


def _steady(name: str, trial: Trial, remedy: str, *needed_by: str) -> Feature:
    return Feature(name, _STEADINESS, needed_by or ("every measurement",), remedy, trial)


READ_ONLY_MACHINE = "read-only-machine"

FEATURES: tuple[Feature, ...] = (
    Feature("root", _PRIVILEGES, (_LABS,), privileges.GIVE_NAMESPACES, privileges.root),
    Feature(
        "user-namespaces",
        _PRIVILEGES,
        ("labs without root",),
        privileges.GIVE_ROOT,
        privileges.user_namespaces,
    ),
    Feature(
        "capabilities",
        _PRIVILEGES,
        (_LABS,),
        "in a container: the options in docs/packages.md, or docker run --privileged",
        privileges.capabilities,
    ),
    Feature(
        "network-namespaces",
        _LAB,
        ("lab netns",),
        kernel("veth", "CONFIG_NET_NS"),
        privileges.network_namespaces,
    ),
    Feature(
        "mount-namespaces",
        _LAB,
        ("lab netns",),
        "use a kernel with CONFIG_NAMESPACES; in a container: docker run --privileged",
        privileges.mount_namespaces,
    ),
    Feature(
        READ_ONLY_MACHINE,
        _LAB,
        ("lab netns: what a VPN's program as root cannot change",),
        "use Linux 5.12 or newer, with CONFIG_UTS_NS and CONFIG_IPC_NS",
        privileges.read_only_machine,
    ),
    _tried(_LAB, "veth", "lab netns", "veth", "CONFIG_VETH", _WIRE),
    Feature(
        "tun",
        _LAB,
        ("wireguard/go", "openvpn", _IN_USER_SPACE),
        tun.MAKE_IT,
        tun.tun,
        scratch=True,
    ),
    Feature("tap", _LAB, ("link wire",), tun.MAKE_IT, tun.tap, scratch=True),
    _tried(_LAB, "nftables", "topology routed", "nf_tables", "CONFIG_NF_TABLES"),
    _tried(_LAB, "nat", "routers that translate addresses", "nft_chain_nat", "CONFIG_NFT_NAT"),
    Feature(
        "kvm",
        _LAB,
        ("lab vm",),
        "sudo modprobe kvm_intel || sudo modprobe kvm_amd; in a guest, enable nested "
        "virtualisation",
        accounting.kvm,
    ),
    _tried(_VPN, "wireguard", "wireguard/kernel", "wireguard", "CONFIG_WIREGUARD", "wireguard/go"),
    _tried(
        _VPN,
        "ovpn",
        "openvpn with data channel offload",
        "ovpn",
        "CONFIG_OVPN",
        "openvpn in user space",
    ),
    *(
        _tried(_VPN, name, "strongswan in the kernel", module, option, _IN_USER_SPACE)
        for name, module, option in (
            ("xfrm", "xfrm_user", "CONFIG_XFRM_USER"),
            ("esp", "esp4", "CONFIG_INET_ESP"),
        )
    ),
    _tried(_VPN, "ah", "AH as a baseline", "ah4", "CONFIG_INET_AH"),
    _tried(
        _VPN,
        "xfrm-interface",
        "route-based IPsec",
        "xfrm_interface",
        "CONFIG_XFRM_INTERFACE",
        "policies instead of routes",
    ),
    _tried(_VPN, "vxlan", "vxlan", "vxlan", "CONFIG_VXLAN"),
    _tried(_VPN, "gre", "gre", "ip_gre", "CONFIG_NET_IPGRE"),
    Feature(
        "tun-offloads",
        _VPN,
        ("wireguard/go at full speed", "link wire"),
        "use Linux 6.2 or newer",
        tun.offloads,
        scratch=True,
    ),
    Feature(
        "tun-multi-queue",
        _VPN,
        ("VPNs that read from several threads",),
        "use Linux 3.8 or newer",
        tun.multi_queue,
        scratch=True,
    ),
    Feature(
        "aes-instructions",
        _VPN,
        ("AES variants at full speed",),
        "choose a chacha20-poly1305 variant, or another machine",
        steadiness.aes,
    ),
    _tried(_IMPAIRMENT, "tbf", "rate of a veth link", "sch_tbf", "CONFIG_NET_SCH_TBF", _WIRE),
    _tried(_IMPAIRMENT, "netem", "link netem", "sch_netem", "CONFIG_NET_SCH_NETEM", _WIRE),
    _tried(
        _IMPAIRMENT, "fq", "pacing by the kernel", "sch_fq", "CONFIG_NET_SCH_FQ", "TCP's own pacing"
    ),
    _tried(
        _IMPAIRMENT,
        "fq_codel",
        "queue management on a veth link",
        "sch_fq_codel",
        "CONFIG_NET_SCH_FQ_CODEL",
        _WIRE,
    ),
    Feature(
        "capture",
        _MEASUREMENT,
        ("the proof", "initiation"),
        kernel("af_packet", "CONFIG_PACKET"),
        sockets.capture,
        scratch=True,
    ),
    _congestion_control("cubic", "CONFIG_TCP_CONG_CUBIC"),
    _congestion_control("bbr", "CONFIG_TCP_CONG_BBR"),
    _congestion_control("reno", "CONFIG_TCP_CONG_ADVANCED"),
    Feature(
        "udp-gso",
        _MEASUREMENT,
        (_OF_A_CARD,),
        "use Linux 4.18 or newer",
        sockets.segmentation,
        scratch=True,
    ),
    Feature(
        "udp-gro",
        _MEASUREMENT,
        (_OF_A_CARD,),
        "use Linux 5.0 or newer",
        sockets.coalescing,
        scratch=True,
    ),
    Feature(
        "irq-time-accounting",
        _MEASUREMENT,
        ("softirq in cpu",),
        "boot a kernel with CONFIG_IRQ_TIME_ACCOUNTING=y (distributions' kernels have it); until "
        "then use CPU per process instead of softirq",
        accounting.irq_time,
    ),
    Feature(
        "schedstat",
        _MEASUREMENT,
        ("cpu per thread",),
        "boot a kernel with CONFIG_SCHED_INFO=y (CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT)",
        accounting.scheduler_statistics,
    ),
    Feature(
        "cgroups",
        _MEASUREMENT,
        ("limits per node",),
        "sudo mount -t cgroup2 none /sys/fs/cgroup",
        steadiness.cgroups,
    ),
    Feature(
        "cpu-quota",
        _MEASUREMENT,
        ("router = { quota = ... }",),
        "boot a kernel with CONFIG_CFS_BANDWIDTH, and let Culvert create control groups: in a "
        "container, docker run --privileged --cgroupns=host",
        steadiness.cpu_quota,
    ),
    _program("culvert-probe", "make setup", "every lab and measurement"),
    _program("culvert-wire", "make setup", "the link wire"),
    _program("wireguard-go", "culvert install wireguard/go", "wireguard/go", "wireguard/go-debian"),
    _program("openvpn", with_sudo("install openvpn"), "openvpn"),
    _program("charon-systemd", with_sudo("install strongswan"), "strongswan"),
    _program("swanctl", with_sudo("install strongswan"), "strongswan"),
    _program("nft", install("nftables"), "topology routed"),
    _program("iperf3", install("iperf3"), 'instrument = "iperf3"'),
    _program("perf", install("linux-perf"), "run --profile"),
    _program("inferno-flamegraph", INFERNO, "run --profile"),
    _steady("cpus", steadiness.cpus, "use a machine with four or more CPUs"),
    _steady("governor", steadiness.governor, "sudo cpupower frequency-set -g performance"),
    _steady(
        "boost",
        steadiness.boost,
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, or "
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
    ),
    _steady("smt", steadiness.smt, "echo off | sudo tee /sys/devices/system/cpu/smt/control"),
    _steady(
        "clocksource",
        steadiness.clock,
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        "rtt",
        "initiation",
    ),
    _steady(
        "hypervisor",
        steadiness.hypervisor,
        "compare only figures of the same run; for absolute figures use bare metal",
    ),
    _steady("real-time", privileges.real_time, without_root.REAL_TIME, "link wire"),
    _steady(
        "receive-buffers", privileges.receive_buffers, without_root.BUFFERS, "udp", "throughput"
    ),
    _steady("load", steadiness.load, "stop other programs (see top)"),
)

_BY_NAME = {feature.name: feature for feature in FEATURES}


def has(name: str) -> bool:
    """Whether the feature exists (it may be degraded); False if it could not be tried.

    Raises UsageError for a name that is not in FEATURES.
    """
    return finding(name).status in {FeatureStatus.PRESENT, FeatureStatus.DEGRADED}


def check(name: str) -> FeatureCheck:
    """The feature's finding, with the parts that need it and the remedy."""
    feature = _feature(name)
    found = finding(name)
    return FeatureCheck(
        name=name,
        group=feature.group,
        status=found.status,
        needed_by=feature.needed_by,
        detail=found.detail,
        remedy=_remedy(feature, found),
    )


@cache
def finding(name: str) -> FeatureFinding:
    """The result of the feature's trial, which runs at the first call in a process."""
    feature = _feature(name)
    return find(feature.trial, scratch=feature.scratch)


def _feature(name: str) -> Feature:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if commands.commands_of(name):
        return Feature(name, _VPN, (), "use another kernel", commands.trial(name), scratch=True)
    raise UsageError(
        f"feature {name!r}", "is unknown to doctor", f"use one of {', '.join(_BY_NAME)}"
    )


def _remedy(feature: Feature, found: FeatureFinding) -> str | None:
    if found.status is FeatureStatus.PRESENT:
        return None
    if found.remedy is not None:
        return found.remedy
    return AS_ROOT if found.status is FeatureStatus.UNKNOWN else feature.remedy

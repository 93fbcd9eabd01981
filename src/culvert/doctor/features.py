"""Every feature that labs, VPNs and measurements ask for, each with its trial.

Drivers and labs ask ``features.has("esp")``; a trial is made once a process.
"""

from __future__ import annotations

from functools import cache

from culvert.doctor import (
    accounting,
    firewall,
    ipsec,
    links,
    privileges,
    qdiscs,
    sockets,
    steadiness,
    tun,
)
from culvert.doctor.check import Check, Feature, Finding, Group, Status
from culvert.doctor.programs import PROGRAMS
from culvert.doctor.remedies import kernel
from culvert.doctor.verdict import AS_ROOT, find
from culvert.errors import UsageError

ALL_LABS = ("every lab",)
USER_SPACE = ("wireguard/go", "openvpn", "strongswan in user space")
GIVE_CAPABILITIES = "in a container: docker run --privileged, or --cap-add for each of them"

_PRIVILEGES = (
    Feature("root", Group.PRIVILEGES, ALL_LABS, privileges.GIVE_ROOT, privileges.root),
    Feature("capabilities", Group.PRIVILEGES, ALL_LABS, GIVE_CAPABILITIES, privileges.capabilities),
)

_LAB = (
    Feature(
        "network-namespaces",
        Group.LAB,
        ("lab netns",),
        kernel("veth", "CONFIG_NET_NS"),
        privileges.network_namespaces,
    ),
    Feature(
        "mount-namespaces",
        Group.LAB,
        ("lab netns",),
        "use a kernel with CONFIG_NAMESPACES; in a container: docker run --privileged",
        privileges.mount_namespaces,
    ),
    Feature(
        "veth",
        Group.LAB,
        ("lab netns",),
        kernel("veth", "CONFIG_VETH", 'link = "wire"'),
        links.link("veth", peer="cvscratch1"),
        scratch=True,
    ),
    Feature("tun", Group.LAB, USER_SPACE, tun.MAKE_IT, tun.tun, scratch=True),
    Feature("tap", Group.LAB, ("link wire",), tun.MAKE_IT, tun.tap, scratch=True),
    Feature(
        "nftables",
        Group.LAB,
        ("topology routed",),
        kernel("nf_tables", "CONFIG_NF_TABLES"),
        firewall.filtering,
        scratch=True,
    ),
    Feature(
        "nat",
        Group.LAB,
        ("routers that translate addresses",),
        kernel("nft_chain_nat", "CONFIG_NFT_NAT"),
        firewall.translating,
        scratch=True,
    ),
    Feature(
        "kvm",
        Group.LAB,
        ("lab vm",),
        "sudo modprobe kvm_intel || sudo modprobe kvm_amd; in a guest, nested virtualisation "
        "must be on",
        accounting.kvm,
    ),
)

_VPN = (
    Feature(
        "wireguard",
        Group.VPN,
        ("wireguard/kernel",),
        kernel("wireguard", "CONFIG_WIREGUARD", "wireguard/go"),
        links.link("wireguard"),
        scratch=True,
    ),
    Feature(
        "ovpn",
        Group.VPN,
        ("openvpn with data channel offload",),
        kernel("ovpn", "CONFIG_OVPN", "openvpn in user space"),
        links.first_of("ovpn", "ovpn-dco-v2", "ovpn-dco"),
        scratch=True,
    ),
    Feature(
        "xfrm",
        Group.VPN,
        ("strongswan in the kernel",),
        kernel("xfrm_user", "CONFIG_XFRM_USER", "strongswan in user space"),
        ipsec.xfrm,
        scratch=True,
    ),
    Feature(
        "esp",
        Group.VPN,
        ("strongswan in the kernel",),
        kernel("esp4", "CONFIG_INET_ESP", "strongswan in user space"),
        ipsec.esp,
        scratch=True,
    ),
    Feature(
        "ah",
        Group.VPN,
        ("AH as a baseline",),
        kernel("ah4", "CONFIG_INET_AH"),
        ipsec.ah,
        scratch=True,
    ),
    Feature(
        "xfrm-interface",
        Group.VPN,
        ("route-based IPsec",),
        kernel("xfrm_interface", "CONFIG_XFRM_INTERFACE", "policies instead of routes"),
        links.link("xfrm", xfrm_link=1, xfrm_if_id=1),
        scratch=True,
    ),
    Feature(
        "vxlan",
        Group.VPN,
        ("vxlan",),
        kernel("vxlan", "CONFIG_VXLAN"),
        links.link("vxlan", vxlan_id=1, vxlan_port=4789),
        scratch=True,
    ),
    Feature(
        "tun-offloads",
        Group.VPN,
        ("wireguard/go at its best", "link wire"),
        "use Linux 6.2 or newer",
        tun.offloads,
        scratch=True,
    ),
    Feature(
        "tun-multi-queue",
        Group.VPN,
        ("VPNs that read from several threads",),
        "use Linux 3.8 or newer",
        tun.multi_queue,
        scratch=True,
    ),
    Feature(
        "aes-instructions",
        Group.VPN,
        ("AES variants at their best",),
        "choose a chacha20-poly1305 variant, or another machine",
        steadiness.aes,
    ),
)

_IMPAIRMENT = (
    Feature(
        "tbf",
        Group.IMPAIRMENT,
        ("rate of a veth link",),
        kernel("sch_tbf", "CONFIG_NET_SCH_TBF", 'link = "wire"'),
        qdiscs.qdisc("tbf", rate=125_000, burst=3_000, latency=10_000),
        scratch=True,
    ),
    Feature(
        "netem",
        Group.IMPAIRMENT,
        ("link netem",),
        kernel("sch_netem", "CONFIG_NET_SCH_NETEM", 'link = "wire"'),
        qdiscs.qdisc("netem", delay=10_000),
        scratch=True,
    ),
    Feature(
        "fq",
        Group.IMPAIRMENT,
        ("pacing by the kernel",),
        kernel("sch_fq", "CONFIG_NET_SCH_FQ", "TCP's own pacing"),
        qdiscs.qdisc("fq"),
        scratch=True,
    ),
    Feature(
        "fq_codel",
        Group.IMPAIRMENT,
        ("queue management on a veth link",),
        kernel("sch_fq_codel", "CONFIG_NET_SCH_FQ_CODEL", 'link = "wire"'),
        qdiscs.qdisc("fq_codel"),
        scratch=True,
    ),
)

_MEASUREMENT = (
    Feature(
        "capture",
        Group.MEASUREMENT,
        ("the proof", "initiation"),
        kernel("af_packet", "CONFIG_PACKET"),
        sockets.capture,
        scratch=True,
    ),
    *(
        Feature(
            name,
            Group.MEASUREMENT,
            (f"tcp with {name}",),
            kernel(f"tcp_{name}", option),
            sockets.congestion_control(name),
            scratch=True,
        )
        for name, option in (
            ("cubic", "CONFIG_TCP_CONG_CUBIC"),
            ("bbr", "CONFIG_TCP_CONG_BBR"),
            ("reno", "CONFIG_TCP_CONG_ADVANCED"),
        )
    ),
    Feature(
        "udp-gso",
        Group.MEASUREMENT,
        ("udp at high packet rates",),
        "use Linux 4.18 or newer",
        sockets.segmentation,
        scratch=True,
    ),
    Feature(
        "udp-gro",
        Group.MEASUREMENT,
        ("udp at high packet rates",),
        "use Linux 5.0 or newer",
        sockets.coalescing,
        scratch=True,
    ),
    Feature(
        "irq-time-accounting",
        Group.MEASUREMENT,
        ("softirq in cpu",),
        "boot a kernel with CONFIG_IRQ_TIME_ACCOUNTING=y (distributions' kernels have it); until "
        "then read CPU per process rather than softirq",
        accounting.irq_time,
    ),
    Feature(
        "schedstat",
        Group.MEASUREMENT,
        ("cpu per thread",),
        "boot a kernel with CONFIG_SCHED_INFO=y (CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT)",
        accounting.scheduler_statistics,
    ),
    Feature(
        "cgroups",
        Group.MEASUREMENT,
        ("limits per node",),
        "sudo mount -t cgroup2 none /sys/fs/cgroup",
        steadiness.cgroups,
    ),
)

_EVERY = ("every measurement",)
_STEADINESS = (
    Feature(
        "cpus", Group.STEADINESS, _EVERY, "use a machine with four or more CPUs", steadiness.cpus
    ),
    Feature(
        "governor",
        Group.STEADINESS,
        _EVERY,
        "sudo cpupower frequency-set -g performance",
        steadiness.governor,
    ),
    Feature(
        "boost",
        Group.STEADINESS,
        _EVERY,
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, or "
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        steadiness.boost,
    ),
    Feature(
        "smt",
        Group.STEADINESS,
        _EVERY,
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
        steadiness.smt,
    ),
    Feature(
        "clocksource",
        Group.STEADINESS,
        ("rtt", "initiation"),
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        steadiness.clock,
    ),
    Feature(
        "hypervisor",
        Group.STEADINESS,
        _EVERY,
        "compare only what was measured in the same run; for absolute figures use bare metal",
        steadiness.hypervisor,
    ),
    Feature(
        "load", Group.STEADINESS, _EVERY, "end what else is running (see top)", steadiness.load
    ),
)

FEATURES: tuple[Feature, ...] = (
    *_PRIVILEGES,
    *_LAB,
    *_VPN,
    *_IMPAIRMENT,
    *_MEASUREMENT,
    *PROGRAMS,
    *_STEADINESS,
)

_BY_NAME = {feature.name: feature for feature in FEATURES}


def has(name: str) -> bool:
    """Whether the feature is there (it may be degraded); False if it could not be tried.

    Raises UsageError for a name that is not in FEATURES.
    """
    return finding(name).status in {Status.PRESENT, Status.DEGRADED}


def check(name: str) -> Check:
    """The feature's finding with what needs it and what to do about it."""
    feature = _feature(name)
    found = finding(name)
    return Check(
        name=name,
        group=feature.group,
        status=found.status,
        needed_by=feature.needed_by,
        detail=found.detail,
        remedy=_remedy(feature, found),
    )


@cache
def finding(name: str) -> Finding:
    """What the feature's trial came to; made at the first call of a process."""
    feature = _feature(name)
    return find(feature.trial, scratch=feature.scratch)


def _feature(name: str) -> Feature:
    try:
        return _BY_NAME[name]
    except KeyError:
        raise UsageError(
            f"feature {name!r}", "is not one that doctor knows", f"use one of {', '.join(_BY_NAME)}"
        ) from None


def _remedy(feature: Feature, found: Finding) -> str | None:
    if found.status is Status.PRESENT:
        return None
    if found.remedy is not None:
        return found.remedy
    return AS_ROOT if found.status is Status.UNKNOWN else feature.remedy

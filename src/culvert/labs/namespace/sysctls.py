"""Settings of a node's network stack: all are limited to its namespace."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from culvert.errors import LabError
from culvert.labs.node import Node
from culvert.topology.ip import IpVersion
from culvert.topology.nat import MAPPING_S

MOST_GROUPS = 2147483647
"""The highest group that net.ipv4.ping_group_range accepts."""


def highest_group(gid_map: Path = Path("/proc/self/gid_map")) -> int:
    """The highest group of this user namespace's range from 0 (user_namespaces(7)): others are
    invalid in a sysctl. 0 in the namespace of an ordinary user."""
    for line in gid_map.read_text().splitlines():
        inside, _, count = map(int, line.split())
        if inside == 0:
            return min(MOST_GROUPS, count - 1)
    return 0


NODE: Mapping[str, str] = {
    # New interfaces send no router solicitations and no multicast reports, which would be counted
    # as traffic. The loopback exists already and keeps ::1.
    "net/ipv6/conf/default/disable_ipv6": "1",
    "net/ipv4/ping_group_range": f"0 {highest_group()}",
    # A namespace starts with the machine's value, which is 1 beside Docker; ROUTER replaces it.
    "net/ipv4/ip_forward": "0",
    # A connection must not start with metrics of the path from an earlier trial.
    "net/ipv4/tcp_no_metrics_save": "1",
    # Tunnels deliver packets whose return route is another interface.
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
}
ROUTER: Mapping[IpVersion, Mapping[str, str]] = {
    IpVersion.V4: {
        "net/ipv4/ip_forward": "1",
        # The router must not send redirects to a shorter route.
        "net/ipv4/conf/all/send_redirects": "0",
    },
    # IPv4 is not forwarded, whatever the machine's setting is: a path that is up uses IPv6.
    IpVersion.V6: {"net/ipv4/ip_forward": "0", "net/ipv6/conf/all/forwarding": "1"},
}
IPV6 = "net/ipv6"


IPV6_FOR_NEW_DEVICES = {
    f"{IPV6}/conf/default/disable_ipv6": "0",
    f"{IPV6}/conf/default/accept_dad": "0",  # an address can be used at once
}


def of_ipv6_device(device: str) -> Mapping[str, str]:
    """IPv6 on, with the lab's address only: no link-local one, no autoconfiguration, and no wait
    for others with the same address."""
    values = {"addr_gen_mode": "1", "accept_ra": "0", "accept_dad": "0", "disable_ipv6": "0"}
    return {f"{IPV6}/conf/{device}/{name}": value for name, value in values.items()}


CONNTRACK: Mapping[str, str] = {
    # How long a NAT keeps a mapping without traffic; the kernel's 30 s would be less than the two
    # minutes that RFC 4787 requires (REQ-5).
    "net/netfilter/nf_conntrack_udp_timeout": str(MAPPING_S),
    "net/netfilter/nf_conntrack_udp_timeout_stream": str(MAPPING_S),
}

RECORDED = (
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.ip_forward",
    "net.ipv6.conf.default.disable_ipv6",
)

CONGESTION_CONTROL = "net/ipv4/tcp_congestion_control"
DEFAULT_CONGESTION_CONTROL = "cubic"
"""The papers measured CUBIC; a VPN over TCP uses its node's default."""


def prefer_congestion_control() -> None:
    """Make CUBIC the default of the calling thread's namespace.

    A namespace may choose only from the host's net.ipv4.tcp_allowed_congestion_control, which
    Culvert does not change; a program with CAP_NET_ADMIN can still choose for its own sockets.
    """
    with suppress(OSError):
        Path("/proc/sys", CONGESTION_CONTROL).write_text(DEFAULT_CONGESTION_CONTROL)


def apply(settings: Mapping[str, str]) -> None:
    """Write the settings in the calling thread's network namespace; raises LabError.

    A setting that is missing in this kernel (IPv6 switched off) is skipped.
    """
    for name, value in settings.items():
        path = Path("/proc/sys") / name
        if not path.exists():
            continue
        try:
            path.write_text(value)
        except OSError as error:
            raise LabError(
                f"sysctl {name.replace('/', '.')} = {value}",
                error.strerror or str(error),
                "load the kernel module for it, or see `culvert doctor`",
            ) from error


def recorded(node: Node) -> dict[str, str | None]:
    """Settings that influence the measurements; None for missing ones."""
    return {name: _read(node, name.replace(".", "/")) for name in RECORDED}


def _read(node: Node, name: str) -> str | None:
    try:
        return " ".join(node.sysctl(name).split())
    except OSError:
        return None

"""Settings of a node's network stack: none of them reaches beyond its namespace."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from culvert.errors import LabError
from culvert.topology.nat import MAPPING_S

MOST_GROUPS = 2147483647
"""The highest group that net.ipv4.ping_group_range takes."""


def highest_group(gid_map: Path = Path("/proc/self/gid_map")) -> int:
    """Of the groups from 0 on that our user namespace has (user_namespaces(7)): others are
    invalid in a sysctl. 0 for an ordinary user's."""
    for line in gid_map.read_text().splitlines():
        inside, _, count = map(int, line.split())
        if inside == 0:
            return min(MOST_GROUPS, count - 1)
    return 0


NODE: Mapping[str, str] = {
    # Interfaces made from now on send no router solicitations and no multicast reports: noise
    # that would be counted as traffic. The loopback is there already and keeps ::1.
    "net/ipv6/conf/default/disable_ipv6": "1",
    "net/ipv4/ping_group_range": f"0 {highest_group()}",
    # A connection must not start with what an earlier trial learnt about the path.
    "net/ipv4/tcp_no_metrics_save": "1",
    # Tunnels deliver packets whose way back is another interface.
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
}
ROUTER: Mapping[str, str] = {
    "net/ipv4/ip_forward": "1",
    # The router of a test setup must not tell senders about a better way.
    "net/ipv4/conf/all/send_redirects": "0",
}
CONNTRACK: Mapping[str, str] = {
    # How long a NAT keeps a mapping that has no traffic; the kernel's 30 s would be less than the
    # two minutes that RFC 4787 asks for (REQ-5).
    "net/netfilter/nf_conntrack_udp_timeout": str(MAPPING_S),
    "net/netfilter/nf_conntrack_udp_timeout_stream": str(MAPPING_S),
}

CONGESTION_CONTROL = "net/ipv4/tcp_congestion_control"
DEFAULT_CONGESTION_CONTROL = "cubic"
"""The papers measured CUBIC; a VPN over TCP takes its node's default."""


def prefer_congestion_control(name: str = DEFAULT_CONGESTION_CONTROL) -> str:
    """Make it the default of the calling thread's namespace; return what the default is now.

    A namespace may choose only what the host's net.ipv4.tcp_allowed_congestion_control lists, and
    the host is not ours to change; a program with CAP_NET_ADMIN can still choose for its sockets.
    """
    path = Path("/proc/sys") / CONGESTION_CONTROL
    with suppress(OSError):
        path.write_text(name)
    return path.read_text().strip()


def apply(settings: Mapping[str, str]) -> None:
    """Write them for the calling thread's network namespace; raises LabError.

    A setting that this kernel does not have (IPv6 switched off) is left out.
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

"""The network settings that affect a VPN's throughput."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.machine.tree import Tree, integers

Triple = tuple[int, ...]


@dataclass(frozen=True)
class NetworkSettings:
    """System-wide settings, in the kernel's own units (bytes, packets, microseconds).

    ``tcp_rmem`` and ``tcp_wmem``: minimum, default, maximum of a socket's buffer in bytes.
    A lab's namespaces inherit or reset some of them; the lab records what it sets itself.
    """

    rmem_default_bytes: int | None
    rmem_max_bytes: int | None
    wmem_default_bytes: int | None
    wmem_max_bytes: int | None
    optmem_max_bytes: int | None
    tcp_rmem_bytes: Triple | None
    tcp_wmem_bytes: Triple | None
    tcp_mem_pages: Triple | None
    udp_mem_pages: Triple | None
    tcp_congestion_control: str | None
    tcp_congestion_controls: tuple[str, ...] | None
    tcp_ecn: int | None
    tcp_mtu_probing: int | None
    tcp_no_metrics_save: int | None
    tcp_slow_start_after_idle: int | None
    default_qdisc: str | None
    netdev_budget: int | None
    netdev_budget_usecs: int | None
    netdev_max_backlog: int | None
    dev_weight: int | None
    busy_poll: int | None
    busy_read: int | None
    bpf_jit_enable: int | None
    rps_sock_flow_entries: int | None
    ip_forward: int | None
    rp_filter: int | None


def read_network(tree: Tree) -> NetworkSettings:
    """Read /proc/sys/net as this process's network namespace sees it."""

    def core(name: str) -> int | None:
        return tree.number(f"/proc/sys/net/core/{name}")

    def ipv4(name: str) -> int | None:
        return tree.number(f"/proc/sys/net/ipv4/{name}")

    def triple(name: str) -> Triple | None:
        return integers(tree.text(f"/proc/sys/net/ipv4/{name}"))

    controls = tree.text("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return NetworkSettings(
        rmem_default_bytes=core("rmem_default"),
        rmem_max_bytes=core("rmem_max"),
        wmem_default_bytes=core("wmem_default"),
        wmem_max_bytes=core("wmem_max"),
        optmem_max_bytes=core("optmem_max"),
        tcp_rmem_bytes=triple("tcp_rmem"),
        tcp_wmem_bytes=triple("tcp_wmem"),
        tcp_mem_pages=triple("tcp_mem"),
        udp_mem_pages=triple("udp_mem"),
        tcp_congestion_control=tree.text("/proc/sys/net/ipv4/tcp_congestion_control"),
        tcp_congestion_controls=tuple(sorted(controls.split())) if controls else None,
        tcp_ecn=ipv4("tcp_ecn"),
        tcp_mtu_probing=ipv4("tcp_mtu_probing"),
        tcp_no_metrics_save=ipv4("tcp_no_metrics_save"),
        tcp_slow_start_after_idle=ipv4("tcp_slow_start_after_idle"),
        default_qdisc=tree.text("/proc/sys/net/core/default_qdisc"),
        netdev_budget=core("netdev_budget"),
        netdev_budget_usecs=core("netdev_budget_usecs"),
        netdev_max_backlog=core("netdev_max_backlog"),
        dev_weight=core("dev_weight"),
        busy_poll=core("busy_poll"),
        busy_read=core("busy_read"),
        bpf_jit_enable=core("bpf_jit_enable"),
        rps_sock_flow_entries=core("rps_sock_flow_entries"),
        ip_forward=ipv4("ip_forward"),
        rp_filter=tree.number("/proc/sys/net/ipv4/conf/all/rp_filter"),
    )

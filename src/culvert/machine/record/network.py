"""The network settings that affect a VPN's throughput."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from culvert.machine.tree import Tree


def _triple(tree: Tree, path: str) -> tuple[int, ...] | None:
    numbers = tree.text(path)
    return tuple(map(int, numbers.split())) if numbers else None


def _names(tree: Tree, path: str) -> tuple[str, ...] | None:
    names = tree.text(path)
    return tuple(sorted(names.split())) if names else None


def _at(path: str, read: Callable[[Tree, str], Any] = Tree.number) -> Any:
    """A setting below /proc/sys/net, a number unless ``read`` returns something else."""
    return field(metadata={"path": f"/proc/sys/net/{path}", "read": read})


@dataclass(frozen=True)
class NetworkSettings:
    """System-wide settings, in the kernel's own units (bytes, packets, microseconds).

    ``tcp_rmem`` and ``tcp_wmem``: minimum, default, maximum of a socket's buffer in bytes.
    A lab's namespaces inherit or reset some of them; the lab records what it sets itself.
    """

    rmem_default_bytes: int | None = _at("core/rmem_default")
    rmem_max_bytes: int | None = _at("core/rmem_max")
    wmem_default_bytes: int | None = _at("core/wmem_default")
    wmem_max_bytes: int | None = _at("core/wmem_max")
    optmem_max_bytes: int | None = _at("core/optmem_max")
    tcp_rmem_bytes: tuple[int, ...] | None = _at("ipv4/tcp_rmem", _triple)
    tcp_wmem_bytes: tuple[int, ...] | None = _at("ipv4/tcp_wmem", _triple)
    tcp_mem_pages: tuple[int, ...] | None = _at("ipv4/tcp_mem", _triple)
    udp_mem_pages: tuple[int, ...] | None = _at("ipv4/udp_mem", _triple)
    tcp_congestion_control: str | None = _at("ipv4/tcp_congestion_control", Tree.text)
    tcp_congestion_controls: tuple[str, ...] | None = _at(
        "ipv4/tcp_available_congestion_control", _names
    )
    tcp_ecn: int | None = _at("ipv4/tcp_ecn")
    tcp_mtu_probing: int | None = _at("ipv4/tcp_mtu_probing")
    tcp_no_metrics_save: int | None = _at("ipv4/tcp_no_metrics_save")
    tcp_slow_start_after_idle: int | None = _at("ipv4/tcp_slow_start_after_idle")
    default_qdisc: str | None = _at("core/default_qdisc", Tree.text)
    netdev_budget: int | None = _at("core/netdev_budget")
    netdev_budget_usecs: int | None = _at("core/netdev_budget_usecs")
    netdev_max_backlog: int | None = _at("core/netdev_max_backlog")
    dev_weight: int | None = _at("core/dev_weight")
    busy_poll: int | None = _at("core/busy_poll")
    busy_read: int | None = _at("core/busy_read")
    bpf_jit_enable: int | None = _at("core/bpf_jit_enable")
    rps_sock_flow_entries: int | None = _at("core/rps_sock_flow_entries")
    ip_forward: int | None = _at("ipv4/ip_forward")
    rp_filter: int | None = _at("ipv4/conf/all/rp_filter")


def read_network(tree: Tree) -> NetworkSettings:
    """Read /proc/sys/net as this process's network namespace sees it."""
    every = fields(NetworkSettings)
    return NetworkSettings(
        **{one.name: one.metadata["read"](tree, one.metadata["path"]) for one in every}
    )

"""Settings of a node's kernel that are recorded."""

from __future__ import annotations

SYSCTLS = (
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.ip_forward",
    "net.ipv6.conf.default.disable_ipv6",
)
"""Settings of a namespace that influence the measurements."""

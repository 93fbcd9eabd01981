"""The facts about a synthetic run, as ``Journal.run`` returns them."""

from __future__ import annotations

from typing import Any

STUDY = """name = "quick"
title = "Which VPN, on this machine, in five minutes?"
vpns = ["none", "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm"]

[lab]
topology = "pair"
link = { kind = "veth", mtu = 1500 }

[[condition]]
name = "clean"

[[measurement]]
kind = "tcp"
duration = "2.5s"

[[measurement]]
kind = "udp"
packet_size = [64, "max"]
duration = "2s"

[plan]
order = "random"
seed = 1
blocks = 5
"""

RUN: dict[str, Any] = {
    "study": "quick",
    "title": "Which VPN, on this machine, in five minutes?",
    "toml": STUDY,
    "seed": 1,
    "culvert_version": "0.1.0",
    "lab": "netns",
    "started_at": "2026-11-20T10:00:00+00:00",
    "ended_at": "2026-11-20T10:04:41+00:00",
    "environment": {
        "kernel": {"release": "6.12.48", "architecture": "x86_64", "clocksource": "tsc"},
        "distribution": {"name": "Debian GNU/Linux 12 (bookworm)"},
        "cpu": {
            "model": "Intel(R) Xeon(R) Processor",
            "cores": 2,
            "threads": 2,
            "frequency": {"driver": None, "governors": ["performance"], "boost": True},
            "crypto_flags": {"aes": True, "avx512f": True, "vaes": True},
            "mitigations": {"retbleed": "Vulnerable", "spectre_v2": "Mitigation: Retpolines"},
        },
        "memory": {"total_bytes": 25276510208},
        "virtualisation": {"guest": True, "hypervisor": "kvm"},
        "network": {
            "tcp_congestion_control": "bbr",
            "tcp_congestion_controls": ["bbr", "cubic", "reno"],
            "rmem_max_bytes": 4194304,
            "default_qdisc": "pfifo_fast",
        },
        "software": {"culvert": "0.1.0", "python": "3.11.7", "libcrypto": "OpenSSL 3.0.19"},
        "load": {"average_1min": 2.9},
    },
    "installs": [
        {
            "vpn": "openvpn/aes-256-gcm",
            "role": "openvpn",
            "duration_s": 7.2,
            "changed": True,
            "version": "2.6.14",
        },
        {
            "vpn": "wireguard/go",
            "role": "wireguard",
            "duration_s": 31.5,
            "changed": True,
            "version": "0.0.20250522",
        },
        {
            "vpn": "strongswan/esp-aes256gcm",
            "role": "strongswan",
            "duration_s": 12.9,
            "changed": False,
            "version": "6.0.1",
        },
    ],
}

"""Properties of a host's device and network stack, read with the host's own programs."""

from __future__ import annotations

from typing import Any

from culvert.labs import iproute
from culvert.labs.link import offloads
from culvert.labs.node import Node


def of_device(node: Node, device: str) -> dict[str, Any]:
    """MTU, speed, queueing and offloads; empty if there is no such device. What the host has no
    program for is left out."""
    link = node.link(device)
    if link is None:
        return {}
    found: dict[str, Any] = {"device": device, "mtu": link.mtu}
    speed = speed_bps(node, device)
    if speed is not None:
        found["speed_bps"] = speed
    if node.find("tc") is not None:
        shown = node.run(["tc", "-j", "qdisc", "show", "dev", device], check=False)
        if shown.returncode == 0:
            found["queueing"] = [
                one.get("kind") for one in iproute.entries(shown.stdout, node.name)
            ]
    features = _features(node, device)
    if features is not None:
        found |= offloads.described(features)
    return found


def speed_bps(node: Node, device: str) -> int | None:
    """The speed that a card reports; None for others."""
    try:
        mbit = int(node.text(f"/sys/class/net/{device}/speed"))
    except (OSError, ValueError):
        return None
    return mbit * 1_000_000 if mbit > 0 else None


def makes_super_packets(node: Node, device: str) -> bool:
    """Whether the device may show packets larger than the link's; yes if it is unknown."""
    features = _features(node, device)
    return features is None or any(
        on and offloads.makes_super_packets(name) for name, on in features.items()
    )


def _features(node: Node, device: str) -> dict[str, bool] | None:
    """Each feature that the kernel lists, and whether it is active; None without ethtool."""
    if node.find("ethtool") is None:
        return None
    shown = node.run(["ethtool", "-k", device], check=False)
    if shown.returncode != 0:
        return None
    return {
        LONG_NAMES.get(name, name): state.split()[0] == "on"
        for name, _, state in (line.strip().partition(": ") for line in shown.stdout.splitlines())
        if state
    }


LONG_NAMES = {
    "tcp-segmentation-offload": "tx-tcp-segmentation",
    "generic-segmentation-offload": "tx-generic-segmentation",
    "generic-receive-offload": "rx-gro",
    "large-receive-offload": "rx-lro",
    "rx-checksumming": "rx-checksum",
    "tx-checksumming": "tx-checksum",
}
"""ethtool's names of the kernel's features."""

"""The kernel's features that make, pass or build packets longer than the MTU."""

from __future__ import annotations

import re

SUPER_PACKETS = re.compile(r"tx-.*segmentation|tx-gso-.*|rx-gro.*|rx-lro|rx-udp-gro-forwarding")
"""Their names, as ethtool shows them."""


def makes_super_packets(feature: str) -> bool:
    """Whether a feature creates super-packets, and must be off on a link without offloads."""
    return SUPER_PACKETS.fullmatch(feature) is not None

"""What the id of a VPN says by itself: ``family/variant+option``."""

from __future__ import annotations

BASELINE = "none"
"""The id of the link without a VPN: every block has it, and all VPNs are compared with it."""


def bare(vpn: str) -> bool:
    """Whether it is a link without a VPN: the baseline, or another one of an import."""
    return vpn == BASELINE or vpn.startswith(f"{BASELINE}/")


def family_of(vpn: str) -> str:
    """The VPN without its variant and options."""
    return vpn.split("/", 1)[0].split("+", 1)[0]

"""The version of IP below the VPNs."""

from __future__ import annotations

from enum import IntEnum
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)

Address = IPv4Address | IPv6Address
Interface = IPv4Interface | IPv6Interface
Subnet = IPv4Network | IPv6Network


class IpVersion(IntEnum):
    """The one with which nodes reach each other."""

    V4 = 4
    V6 = 6

    @property
    def header_bytes(self) -> int:
        """Of a packet without options (RFC 791, RFC 8200)."""
        return 20 if self is IpVersion.V4 else 40

    @property
    def word(self) -> str:
        return f"ipv{self.value}"


LEAST_MTU_IPV6 = 1280
"""Of a link that carries IPv6 (RFC 8200, section 5)."""
LONGER_IPV6 = IpVersion.V6.header_bytes - IpVersion.V4.header_bytes
"""Bytes by which a packet of IPv6 is longer than one of IPv4 with the same payload."""

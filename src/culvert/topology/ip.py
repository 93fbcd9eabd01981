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

"""No VPN: the baseline that everything is compared with. Inner packets are the outer packets."""

from __future__ import annotations

from ipaddress import IPv4Interface
from typing import ClassVar

from culvert.labs.node import AnyNode
from culvert.topology.ip import Address, IpVersion
from culvert.vpns.authoring import (
    DataCipher,
    DataPath,
    Host,
    Missing,
    OuterFlow,
    Path,
    Variant,
    Vpn,
    underlay_address,
)


class NoVpn(Vpn[AnyNode]):
    """The bare underlay."""

    name = "none"
    summary = "No VPN: the baseline"
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant(
            "none",
            "the bare underlay",
            {"encryption": "none"},
            cipher=DataCipher.NONE,
            encrypts=False,
        ),
        Variant(
            "mtu-1450",
            "the bare underlay below a cluster whose pods have an MTU of 1450 bytes",
            {"encryption": "none", "MTU of the pods": "1450"},
            cipher=DataCipher.NONE,
            encrypts=False,
            overlay_mtu=1450,
        ),
    )

    memory_bytes = 0
    joins_together = True
    ipv6_inside = routes_behind = True

    def missing(self, host: Host) -> list[Missing]:
        del host
        return []

    def version(self, host: Host) -> str:
        del host
        return "none"

    def configure(self) -> None:
        """Nothing to prepare."""

    def join(self, member: AnyNode) -> None:
        """The underlay is always ready."""

    def reach(self, path: Path) -> None:
        """The underlay is always up."""

    def drop(self, path: Path) -> None:
        """There is nothing to end: a warm start of the baseline is one round trip."""

    def resume(self, path: Path) -> None:
        """The underlay is always up."""

    @property
    def inner_version(self) -> IpVersion:
        """There is no inside; see ``outer_length`` for a packet of IPv6."""
        return IpVersion.V4

    def inner(self, node: AnyNode) -> IPv4Interface:
        return node.underlay.address

    def traffic_address(self, node: AnyNode) -> Address:
        """The one by which nodes reach each other, which may be of IPv6."""
        return underlay_address(node)

    def interface(self, node: AnyNode) -> str:
        return node.underlay.device

    @property
    def data_path(self) -> DataPath:
        return DataPath.NONE

    def determine_data_path(self, node: AnyNode) -> DataPath:
        """There is no tunnel that could have one."""
        del node
        return DataPath.NONE

    @property
    def outer_flow(self) -> OuterFlow | None:
        """No packet belongs to a tunnel."""
        return None

    def outer_length(self, inner_length: int) -> int | None:
        """The inner length: there is no overhead. A packet of IPv6 counts as one of IPv4 with the
        same payload, as the packets inside VPNs are."""
        return inner_length

"""No VPN: the baseline that everything is compared with. Inner packets are the outer packets."""

from __future__ import annotations

from ipaddress import IPv4Interface
from typing import ClassVar

from culvert.labs.base import Lab, Node
from culvert.vpns.base import DataPath, Missing, OuterFlow, Variant, Vpn


class NoVpn(Vpn):
    """The bare underlay."""

    name = "none"
    summary = "No VPN: the baseline"
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("none", "the bare underlay", {"encryption": "none"}, encrypts=False),
    )

    def missing(self) -> list[Missing]:
        """Nothing is needed."""
        return []

    def version(self) -> str:
        """There is no program."""
        return "none"

    def prepare(self, lab: Lab) -> None:
        """Nothing to prepare."""

    def listen(self, b: Node) -> None:
        """The underlay is always ready."""

    def connect(self, a: Node) -> None:
        """The underlay is always up."""

    def drop(self, a: Node) -> None:
        """There is nothing to end: a warm start of the baseline is one round trip."""

    def initiate(self, a: Node) -> None:
        """The underlay is always up."""

    def inner(self, node: Node) -> IPv4Interface:
        """The node's address on the underlay."""
        return node.underlay.address

    def interface(self, node: Node) -> str:
        """The underlay's device."""
        return node.underlay.device

    @property
    def data_path(self) -> DataPath:
        """Nothing is encrypted anywhere."""
        return DataPath.NONE

    def determine_data_path(self, node: Node) -> DataPath:
        """There is no tunnel that could have one."""
        del node
        return DataPath.NONE

    @property
    def outer_flow(self) -> OuterFlow | None:
        """No packet belongs to a tunnel."""
        return None

    def outer_length(self, inner_length: int) -> int | None:
        """The same."""
        return inner_length

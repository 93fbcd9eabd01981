"""A VXLAN tunnel of the kernel (RFC 7348): it does not encrypt, and serves to test that the proof
fails.

::

    outer  IP 20 | UDP 8 | VXLAN 8 | inner frame: Ethernet 14 | inner IP packet
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Interface
from typing import ClassVar

from culvert.vpns.authoring import DataCipher, DataPath, Node, Variant, underlay_address
from culvert.vpns.kernel_device import KernelDevice

DEVICE = "vxlan0"
PORT = 4789
_VNI = 4789


class Vxlan(KernelDevice):
    """Point to point, unicast, with fixed hardware addresses."""

    name = "vxlan"
    summary = "VXLAN, a tunnel without encryption: the proof must fail on it"
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant(
            "plain",
            "the kernel's VXLAN with one unicast peer",
            {"encryption": "none", "transport": f"UDP {PORT}"},
            cipher=DataCipher.NONE,
            encrypts=False,
        ),
    )

    device, port, kernel_kind = DEVICE, PORT, "vxlan"
    overhead = 20 + 8 + 8 + 14

    @property
    def data_path(self) -> DataPath:
        return DataPath.NONE

    def determine_data_path(self, node: Node) -> DataPath:
        """NONE as long as the device is the kernel's VXLAN; raises VpnError if it is not."""
        super().determine_data_path(node)
        return DataPath.NONE

    def attributes(self, node: Node) -> Mapping[str, object]:
        (peer,) = self.peers(node)
        return {
            "vxlan_id": _VNI,
            "vxlan_port": self.port,
            "vxlan_group": str(underlay_address(peer)),
            "vxlan_local": str(underlay_address(node)),
            "vxlan_learning": False,
            "address": _hardware_address(self.inner(node)),
        }


def _hardware_address(inner: IPv4Interface) -> str:
    """A locally administered address that ends in the inner address, so that it is the same in
    every run."""
    return ":".join(f"{byte:02x}" for byte in b"\x02\x00" + inner.ip.packed)

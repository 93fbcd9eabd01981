"""GRE (RFC 2784) over IPsec: a tunnel device of the kernel, whose packets ESP encrypts in transport
mode, with manual keys.

::

    outer IP 20 | ESP: SPI, sequence 8 | IV 8 | GRE 4 | inner packet, padding, 2 | ICV 16
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from socket import IPPROTO_GRE

from culvert.vpns.authoring import (
    ONLY_IPV4,
    Host,
    Missing,
    Node,
    OuterFlow,
    Process,
    Variant,
    underlay_address,
)
from culvert.vpns.ipsec import transforms as ipsec
from culvert.vpns.ipsec.commands import FACTS, NO_INITIATION, Commands
from culvert.vpns.ipsec.transforms import TRANSFORMS, Carriage
from culvert.vpns.kernel_device import KernelDevice

_IP, _GRE = 20, 4


class Gre(KernelDevice):
    """Policies encrypt GRE between both nodes, and drop what arrives without ESP."""

    name = "gre"
    summary = "GRE over IPsec by the kernel, with manual keys"
    variants = tuple(ipsec.variant(name, FACTS) for name in ("esp-aes128gcm", "esp-aes256gcm"))
    # gre0 is the kernel's own.
    device, kernel_kind = "gre1", "gre"
    underlays = ONLY_IPV4
    ipv6_inside = True
    cpu_attributable = False
    no_initiation = NO_INITIATION

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.carriage = Carriage(TRANSFORMS[variant.name], transport=True)
        self._commands = Commands(self, self.carriage, IPPROTO_GRE)

    def missing(self, host: Host) -> list[Missing]:
        """GRE, and the kernel's ESP with this transform."""
        return [*super().missing(host), *self.carriage.missing_from_kernel(host)]

    def version(self, host: Host) -> str:
        return self.carriage.kernel_version(host)

    def configure(self) -> None:
        self._commands.write()

    def attributes(self, node: Node) -> Mapping[str, object]:
        (peer,) = self.peers(node)
        return {
            "gre_local": str(underlay_address(node)),
            "gre_remote": str(underlay_address(peer)),
        }

    def make_end(self, node: Node) -> None:
        """Keys first: no packet of the device leaves in clear text."""
        self._commands.set(node)
        super().make_end(node)

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        super().sweep(node, ended)
        self._commands.unset(node)

    @property
    def outer_flow(self) -> OuterFlow | None:
        return self.carriage.outer_flow()

    def outer_length(self, inner_length: int) -> int | None:
        return self.carriage.outer_length(_IP + _GRE + inner_length)

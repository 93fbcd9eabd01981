"""What is between a member and the internet: the kinds that a study pairs. Pure.

::

    kind         in front of the member
    none         nothing
    full-cone    one NAT of that kind (``nat``), as for the other three
    cgnat        two in a row, its own and its provider's: both port-restricted, since RFC 6888
                 requires endpoint-independent mapping of the provider's
    udp-blocked  a firewall that drops UDP in both directions
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from culvert.topology.nat import Nat


class Access(StrEnum):
    """Kinds by their names in a study, from the most open one to the most closed one."""

    NONE = "none"
    FULL_CONE = "full-cone"
    ADDRESS_RESTRICTED = "address-restricted"
    PORT_RESTRICTED = "port-restricted"
    CGNAT = "cgnat"
    SYMMETRIC = "symmetric"
    UDP_BLOCKED = "udp-blocked"

    @property
    def nats(self) -> tuple[Nat, ...]:
        """The NATs in front of the member, its own first."""
        return _NATS.get(self, ())

    @property
    def blocks_udp(self) -> bool:
        """Whether its UDP is dropped."""
        return self is Access.UDP_BLOCKED


_NATS = {
    **{Access(kind): (kind,) for kind in Nat},
    Access.CGNAT: (Nat.PORT_RESTRICTED, Nat.PORT_RESTRICTED),
}


def access_of(nats: Sequence[Nat], *, blocks_udp: bool) -> Access | None:
    """The kind of these NATs and this block; None for any other combination."""
    for kind in Access:
        if kind.nats == tuple(nats) and kind.blocks_udp == blocks_udp:
            return kind
    return None

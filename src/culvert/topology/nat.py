"""A router that translates addresses, in the common kinds. Pure: text for nftables.

::

    private ── inside router outside ── public        UDP; other protocols as in conntrack

    kind                mapping (RFC 4787, 4.1)       filtering (RFC 4787, 5)
    full-cone           endpoint-independent          endpoint-independent
    address-restricted  endpoint-independent          address-dependent
    port-restricted     endpoint-independent          address and port-dependent
    symmetric           address and port-dependent    address and port-dependent

One node is behind the router, so its ports are kept: that makes the mapping endpoint-independent.
A symmetric NAT takes a random port for each destination. Unsolicited
packets are dropped without an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address

MAPPING_S = 300
"""Lifetime of a mapping without traffic: five minutes, as RFC 4787's REQ-5 recommends."""
UNASKED = "unasked"
"""Name of the counter of unsolicited packets, which are dropped."""


class Nat(StrEnum):
    """Kinds by their common names (RFC 3489); RFC 4787 has separate terms for mapping and
    filtering."""

    FULL_CONE = "full-cone"
    ADDRESS_RESTRICTED = "address-restricted"
    PORT_RESTRICTED = "port-restricted"
    SYMMETRIC = "symmetric"


@dataclass(frozen=True)
class NatSide:
    """The parameters of the translation: the router's devices, the address of the node behind it,
    and the address that others see."""

    inside: str
    outside: str
    private: IPv4Address
    public: IPv4Address


_REMEMBERED = {
    Nat.FULL_CONE: ("inet_service", "udp sport", "udp dport"),
    Nat.ADDRESS_RESTRICTED: (
        "inet_service . ipv4_addr",
        "udp sport . ip daddr",
        "udp dport . ip saddr",
    ),
}
"""The set that admits packets other than answers: its type, the key that leaving packets add, and
the key that arriving packets must match. The other kinds admit answers only, by conntrack."""


def chains(kind: Nat, side: NatSide) -> str:
    """The chains that translate, for a table of family inet."""
    randomly = " fully-random" if kind is Nat.SYMMETRIC else ""
    return f"""\
{_openings(kind, side)}\
  chain translate {{
    type nat hook postrouting priority srcnat;
    oifname "{side.outside}" ip saddr {side.private} snat ip to {side.public}{randomly}
  }}
  chain itself {{
    type filter hook input priority filter;
    iifname "{side.outside}" counter name {UNASKED} drop
  }}
"""


def guard(side: NatSide) -> str:
    """The rule of the forward chain against packets from outside to the private side."""
    return (
        f'iifname "{side.outside}" oifname "{side.inside}" ct state new ct status and dnat == 0 '
        f"counter name {UNASKED} drop"
    )


def _openings(kind: Nat, side: NatSide) -> str:
    if kind not in _REMEMBERED:
        return ""
    key, leaving, arriving = _REMEMBERED[kind]
    goes_out = f'oifname "{side.outside}" ip saddr {side.private} meta l4proto udp'
    comes_in = f'iifname "{side.outside}" ip daddr {side.public} meta l4proto udp'
    return f"""\
  set openings {{
    type {key}
    flags dynamic,timeout
    timeout {MAPPING_S}s
    size 65535
  }}
  chain remember {{
    type filter hook postrouting priority srcnat - 10;
    {goes_out} update @openings {{ {leaving} }}
  }}
  chain let_in {{
    type nat hook prerouting priority dstnat;
    {comes_in} {arriving} @openings dnat ip to {side.private}
  }}
"""


class Access(StrEnum):
    """What is between a member and the internet: the kinds that a study pairs by their names, from
    the most open one to the most closed one.

    ::

        kind         in front of the member
        none         nothing
        full-cone    one NAT of that kind (``nat``), as for the other three
        cgnat        two in a row, its own and its provider's: both port-restricted, since RFC 6888
                     requires endpoint-independent mapping of the provider's
        udp-blocked  a firewall that drops UDP in both directions
    """

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

"""A router that translates addresses, in the kinds that users meet. Pure: nftables' language.

::

    private ── inside router outside ── public        UDP; other protocols as conntrack does them

    kind                mapping (RFC 4787, 4.1)       filtering (RFC 4787, 5)
    full-cone           endpoint-independent          endpoint-independent
    address-restricted  endpoint-independent          address-dependent
    port-restricted     endpoint-independent          address and port-dependent
    symmetric           address and port-dependent    address and port-dependent

One node is behind the router, so its ports are kept: that makes the mapping endpoint-independent.
A symmetric NAT takes a random port for each destination. What nobody behind the router has asked
for is dropped without an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address

MAPPING_S = 300
"""How long a mapping without traffic lives: what RFC 4787's REQ-5 recommends, five minutes."""
UNASKED = "unasked"
"""The counter of what was dropped because nobody behind the router had asked for it."""


class Nat(StrEnum):
    """Kinds by their common names (RFC 3489), which RFC 4787 takes apart."""

    FULL_CONE = "full-cone"
    ADDRESS_RESTRICTED = "address-restricted"
    PORT_RESTRICTED = "port-restricted"
    SYMMETRIC = "symmetric"


@dataclass(frozen=True)
class NatSide:
    """Which way the router translates: devices of the router, the address of the node that is
    behind it, and the address that others see."""

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
"""What lets packets in beside answers: the type of a set, what leaving packets put into it, and
what arriving packets must find in it. The other kinds let in answers only: conntrack knows them."""


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
    """The rule of the forward chain that nobody outside may address the private side."""
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

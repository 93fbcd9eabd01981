"""A kill switch: rules of nftables with which a client sends nothing beside its tunnel.

It is loaded before the tunnel first comes up and stays while the tunnel is down, is started again
or is stopped, as the rules of a machine that is set up so; it ends with the VPN's stop().
"""

from __future__ import annotations

from collections.abc import Sequence

from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.labs.router import firewall
from culvert.vpns.base import Vpn

OPTION = "killswitch"
HELP = "a kill switch: nothing leaves beside the tunnel, also while it is down (topology public)"
_TABLE = "culvert_killswitch"
_NEIGHBOURS = "nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert, mld2-listener-report"


def load(vpn: Vpn, clients: Sequence[Node], device: str, own: Sequence[str]) -> None:
    """With the option, and where the tunnel is the default route, refuse what a client sends, but
    to itself, by the device ``device`` or to neighbours, and what ``own`` matches: the VPN's
    packets, in nft's language. Raises NotPossible without nft."""
    if OPTION in vpn.chosen and vpn.lab.spec.topology.full_tunnel:
        for client in clients:
            _apply(vpn.id, client, _rules(device, own))


def remove(vpn: Vpn, lab: Lab) -> None:
    """Remove the rules of all members; no error if there are none."""
    if OPTION in vpn.chosen:
        for member in lab.members:
            _apply(vpn.id, member, f"table inet {_TABLE} {{ }}\ndelete table inet {_TABLE}\n")


def _rules(device: str, own: Sequence[str]) -> str:
    accepted = [
        'oifname "lo"',
        f'oifname "{device}"',
        f"icmpv6 type {{ {_NEIGHBOURS} }}",
        *own,
    ]
    lines = "".join(f"    {match} accept\n" for match in accepted)
    return (
        f"table inet {_TABLE} {{\n  chain output {{\n"
        f"    type filter hook output priority filter; policy drop;\n{lines}"
        "    counter reject\n  }\n}\n"
    )


def _apply(vpn: str, client: Node, rules: str) -> None:
    remedy = "the kernel needs nf_tables: modprobe nf_tables nft_reject"
    firewall.apply(client, rules, what=f"{vpn}: +{OPTION}", remedy=remedy)

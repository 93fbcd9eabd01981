"""ZeroTier's controller: the network, its members and rules, by its HTTP interface on the node.

Source: https://docs.zerotier.com/api/service/ref-v1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Interface

from culvert.errors import NotPossible
from culvert.vpns.parts.http import request
from culvert.vpns.zerotier.home import Home
from culvert.vpns.zerotier.policy import Rule
from culvert.vpns.zerotier.world import Identity


def create_network(
    home: Home, members: Mapping[Identity, IPv4Interface], *, mtu: int, ipv6: bool
) -> None:
    """Create the controller's network with these members and their addresses; with ``ipv6`` also
    those that follow from their identities (RFC 4193).

    Raises NotPossible if the program has no controller, VpnError if it refuses.
    """
    if '"controller"' not in home.cli("/controller"):
        raise NotPossible(
            f"ZeroTier's controller on node {home.node.name}",
            "this zerotier-one has none, as the vendor's packages from 1.16 on",
            "install zerotier-one 1.14.2",
        )
    settings = {
        "name": "lab",
        "private": True,
        "mtu": mtu,
        "v4AssignMode": {"zt": True},
        "v6AssignMode": {"rfc4193": ipv6},
        "routes": [{"target": str(address.network)} for address in [*members.values()][:1]],
        "enableBroadcast": True,
    }
    _change(home, "", settings)
    for identity, address in members.items():
        admitted = {"authorized": True, "ipAssignments": [str(address.ip)]}
        _change(home, f"/member/{identity.address}", admitted)


def set_rules(home: Home, rules: Sequence[Rule]) -> None:
    """Replace the network's rules; the controller sends them to the members that are online."""
    _change(home, "", {"rules": rules})


def _change(home: Home, place: str, settings: Mapping[str, object]) -> None:
    url = f"http://127.0.0.1:{home.port}/controller/network/{home.identity.network}{place}"
    request(home.node, url, settings, {"X-ZT1-Auth": home.token()})

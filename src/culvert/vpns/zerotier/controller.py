"""ZeroTier's controller: the network and its members, by its HTTP interface on the node itself.

Source: https://docs.zerotier.com/api/service/ref-v1
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Interface

from culvert.errors import NotPossible
from culvert.vpns.http import request
from culvert.vpns.zerotier.home import Home
from culvert.vpns.zerotier.world import PORT, Identity


def create_network(home: Home, members: Mapping[Identity, IPv4Interface], *, mtu: int) -> None:
    """Create the controller's network with these members and their addresses.

    Raises NotPossible if the program has no controller, VpnError if it refuses.
    """
    if '"controller"' not in home.cli("/controller"):
        raise NotPossible(
            f"ZeroTier's controller on node {home.node.name}",
            "this zerotier-one has none, as the vendor's packages from 1.16 on",
            "install zerotier-one 1.14.2",
        )
    url = f"http://127.0.0.1:{PORT}/controller/network/{home.identity.network}"
    token = {"X-ZT1-Auth": home.token()}
    settings = {
        "name": "lab",
        "private": True,
        "mtu": mtu,
        "v4AssignMode": {"zt": True},
        "routes": [{"target": str(address.network)} for address in [*members.values()][:1]],
        "enableBroadcast": True,
    }
    request(home.node, url, settings, token)
    for identity, address in members.items():
        admitted = {"authorized": True, "ipAssignments": [str(address.ip)]}
        request(home.node, f"{url}/member/{identity.address}", admitted, token)

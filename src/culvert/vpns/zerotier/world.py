"""ZeroTier's identities, its own planet (the list of roots), and a node's configuration files.

Sources: the manual pages zerotier-idtool(1) and zerotier-one(8);
https://docs.zerotier.com/config for local.conf.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from culvert.json_text import read_json
from culvert.topology.ip import Address
from culvert.vpns.authoring import VpnError

PORT = 9993
_PLANET_ID = "00000000c01e0001"
_EVERYWHERE = ("0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1")  # /0 would be no network to it
_NETWORK = "000001"
"""The last digits of a network's id; the first are its controller's address."""


@dataclass(frozen=True)
class Identity:
    """``secret`` is what zerotier-idtool prints: address, type, public and private key."""

    secret: str

    @classmethod
    def parse(cls, printed: str) -> Identity:
        """Raises VpnError if it is no identity with its private key."""
        fields = printed.strip().split(":")
        if len(fields) != 4 or len(fields[0]) != 10 or not all(fields):
            raise VpnError("zerotier-idtool", "printed no identity", "install ZeroTier 1.14")
        return cls(printed.strip())

    @property
    def address(self) -> str:
        """Ten hexadecimal digits."""
        return self.secret.split(":")[0]

    @property
    def public(self) -> str:
        """Without the private key."""
        return self.secret.rpartition(":")[0]

    @property
    def network(self) -> str:
        """The id of a network that it controls: 16 hexadecimal digits."""
        return self.address + _NETWORK


def planet(moon: str, endpoint: Address, port: int) -> str:
    """The description of a planet with one root there, from what ``initmoon`` printed for it.

    Raises VpnError if that has another form. It contains the planet's signing key.
    """
    try:
        world: dict[str, Any] = read_json(moon)
        world |= {"worldType": "planet", "id": _PLANET_ID}
        world["roots"][0]["stableEndpoints"] = [f"{endpoint}/{port}"]
    except (ValueError, TypeError, LookupError) as error:
        raise VpnError("zerotier-idtool", "printed no moon", "install ZeroTier 1.14") from error
    return json.dumps(world)


PLANET_FILE = f"{_PLANET_ID}.moon"
"""What ``genmoon`` writes for it into the working directory."""


def local_conf(
    port: int = PORT,
    *,
    no_path_to: Iterable[str] = (),
    tcp_relay: tuple[Address, int] | None = None,
) -> str:
    """A node's settings: one port, of UDP and of TCP, and no UPnP; with ``no_path_to`` no physical
    path to nodes of these addresses is ever used; with ``tcp_relay`` every packet goes there over
    TCP."""
    settings: dict[str, object] = {
        "primaryPort": port,
        "allowSecondaryPort": False,
        "portMappingEnabled": False,
        "softwareUpdate": "disable",
        "allowTcpFallbackRelay": tcp_relay is not None,
    }
    if tcp_relay is not None:
        address, port = tcp_relay
        settings |= {"forceTcpRelay": True, "tcpFallbackRelay": f"{address}/{port}"}
    virtual = {address: {"blacklist": _EVERYWHERE} for address in no_path_to}
    return json.dumps({"settings": settings, "virtual": virtual}, indent=1)

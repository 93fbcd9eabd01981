"""The way of packets to another host: the route, and the TTL with which its echoes arrive."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.links.network import Way, ways_to
from culvert.labs.passage import UNKNOWN, Passage

ANSWER_S = 1
_PING = f'for to do echo "@@$to"; ping -n -c 1 -W {ANSWER_S} "$to" 2>/dev/null; done'
_TTL = re.compile(r"\bttl=(\d+)")


def passages(host: SshHost, addresses: Mapping[str, str]) -> dict[str, Passage]:
    """To each of the nodes, by name, at these addresses; by two commands on the host."""
    if not addresses:
        return {}
    ways, ttls = ways_to(host, [*addresses.values()]), _ttls(host, [*addresses.values()])
    return {
        name: _passage(ways.get(address, {}), ttls.get(address, UNKNOWN))
        for name, address in addresses.items()
    }


def _passage(way: Way, ttl: str) -> Passage:
    return Passage(
        device=way.get("dev", "none"),
        source=way.get("prefsrc", "none"),
        gateway=way.get("gateway", "none"),
        ttl=ttl,
    )


def _ttls(host: SshHost, addresses: Sequence[str]) -> dict[str, str]:
    timeout_s = 10.0 + 2 * ANSWER_S * len(addresses)
    shown = host.run(["sh", "-c", _PING, "sh", *addresses], check=False, timeout_s=timeout_s)
    found = {}
    for part in shown.stdout.split("@@")[1:]:
        address, _, printed = part.partition("\n")
        if (ttl := _TTL.search(printed)) is not None:
            found[address] = ttl[1]
    return found

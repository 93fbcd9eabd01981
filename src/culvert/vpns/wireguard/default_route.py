"""WireGuard as a client's default route: the rules and routes of wg-quick(8).

::

    not marked  ->  table 51820: default through the device
    but routes of the main table that are not the default come first (the link's own network)

WireGuard's own packets have the mark, so they follow the main table.
"""

from __future__ import annotations

from culvert.vpns.authoring import Node
from culvert.vpns.wireguard.variants import MARK

_VERSIONS = ("-4", "-6")
_RULES = (
    ("not", "fwmark", str(MARK), "table", str(MARK)),
    ("table", "main", "suppress_prefixlength", "0"),
)
KILL_SWITCH = (
    "the rule of wg-quick(8)'s example in nftables: what is neither marked nor by the device is "
    "rejected"
)
OWN = (f"meta mark {MARK}",)


def lead(node: Node, device: str) -> None:
    """Make the device the node's default route; the rules of a device that is gone remain."""
    clear(node)
    rules = "".join(f"rule add {' '.join(rule)}\n" for rule in _RULES)
    text = f"route replace default dev {device} table {MARK}\n{rules}"
    for version in _VERSIONS:
        node.run(["ip", version, "-batch", "-"], stdin=text)
    node.set_sysctl("net/ipv4/conf/all/src_valid_mark", "1")


def clear(node: Node) -> None:
    """Remove the rules; no error if there are none."""
    for version in _VERSIONS:
        for rule in _RULES:
            node.run(["ip", version, "rule", "del", *rule], check=False)

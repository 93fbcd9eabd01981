"""The addresses of a node, from the kernel's files. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address

TRIE = "/proc/net/fib_trie"
MOST = 128
"""A node has more if its proxy gives it the address of every service (IPVS): each would be compared
with each packet."""


def local(trie: str) -> list[IPv4Address]:
    """The node's own, but the loopback's; none if there are too many."""
    found: dict[IPv4Address, None] = {}
    at = ""
    for line in trie.splitlines():
        words = line.split()
        if words[:1] == ["|--"]:
            at = words[1]
        elif words == ["/32", "host", "LOCAL"]:
            found[IPv4Address(at)] = None
    own = [address for address in found if not address.is_loopback]
    return own if len(own) <= MOST else []


def of_version_4(texts: Iterable[str]) -> list[IPv4Address]:
    """Those that are; a cluster may name its nodes by others as well."""
    found = []
    for text in texts:
        try:
            found.append(IPv4Address(text))
        except AddressValueError:
            continue
    return found

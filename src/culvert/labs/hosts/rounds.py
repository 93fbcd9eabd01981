"""Which pairs of hosts can be measured at the same time. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from culvert.labs.hosts.entry import HostEntry

Pair = tuple[HostEntry, HostEntry]
MOST_FOR_ALL = 8
"""Of more hosts only neighbours in the inventory's order are paired."""


def pairs_of(hosts: tuple[HostEntry, ...]) -> list[Pair]:
    """Each host with each other one; of many hosts each with the next, in a ring."""
    if len(hosts) <= MOST_FOR_ALL:
        return list(combinations(hosts, 2))
    return list(zip(hosts, (*hosts[1:], hosts[0]), strict=True))


def rounds(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """The pairs in rounds: within a round no two share a host, or a link that was declared
    shared."""
    left, found = list(pairs), []
    while left:
        used: set[str] = set()
        taken = []
        for pair in list(left):
            wanted = _uses(pair)
            if not wanted & used:
                used |= wanted
                taken.append(pair)
                left.remove(pair)
        found.append(taken)
    return found


def _uses(pair: Pair) -> set[str]:
    hosts = {f"host {host.name}" for host in pair}
    return hosts | {f"link {link}" for host in pair for link in host.shared_links}

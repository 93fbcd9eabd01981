"""Which paths can be measured at the same time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import TypeVar

from culvert.labs.hosts.listed.inventory import HostEntry

Pair = tuple[HostEntry, HostEntry]
T = TypeVar("T")
MOST_FOR_ALL = 8
"""Of more hosts only neighbours in the inventory's order are paired."""


def pairs_of(hosts: tuple[HostEntry, ...]) -> list[Pair]:
    """Each host with each other one; of many hosts each with the next, in a ring."""
    if len(hosts) <= MOST_FOR_ALL:
        return list(combinations(hosts, 2))
    return list(zip(hosts, (*hosts[1:], hosts[0]), strict=True))


def rounds(things: Iterable[T], uses: Callable[[T], frozenset[str]]) -> list[list[T]]:
    """The things in rounds, in their order: within a round no two use the same."""
    left, found = list(things), []
    while left:
        used: frozenset[str] = frozenset()
        taken, others = [], []
        for thing in left:
            wanted = uses(thing)
            if wanted & used:
                others.append(thing)
            else:
                used |= wanted
                taken.append(thing)
        left = others
        found.append(taken)
    return found


def used_by(hosts: Iterable[HostEntry]) -> frozenset[str]:
    """Hosts, and the links that the inventory declares shared."""
    hosts = tuple(hosts)
    links = {f"link {link}" for host in hosts for link in host.shared_links}
    return frozenset({f"host {host.name}" for host in hosts} | links)

"""Names, ports and addresses that no host of a run uses, instead of the usual ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network
from itertools import chain

from culvert.errors import NotPossible
from culvert.labs.hosts.facts.survey import Survey
from culvert.topology.plan import PUBLIC, TUNNELS

LONGEST_NAME = 15
"""Characters of an interface's name (IFNAMSIZ less the final zero, if(7))."""
LAST_PORT = 65535
_ANY_PORT = 1024
_REMEDY = "use other hosts for this run, or stop what uses them on these"


class Choice:
    """The first that is free on all hosts: the same for all of them, so that configurations agree.
    What was chosen in place of the usual is in ``changes``."""

    def __init__(self, surveys: Sequence[Survey]) -> None:
        """Raises NotPossible if no network for the addresses inside tunnels is free."""
        self._surveys = tuple(surveys)
        self._devices: dict[str, str] = {}
        self._ports: dict[int, int] = {}
        self.changes: dict[str, str] = {}
        self.tunnels = self._network()
        self._note("addresses", str(TUNNELS), str(self.tunnels))

    def device(self, usual: str) -> str:
        """The usual one, or the next that was not chosen in place of another."""
        if usual in self._devices:
            return self._devices[usual]
        taken = {*self._devices.values()}.union(*(survey.devices for survey in self._surveys))
        for name in _names(usual):
            if name not in taken:
                self._note("device", usual, name)
                self._devices[usual] = name
                return name
        raise AssertionError("the names never end")

    def port(self, usual: int) -> int:
        """A port of both UDP and TCP: the usual one, or the next that was not chosen in place of
        another. Raises NotPossible."""
        if usual in self._ports:
            return self._ports[usual]
        taken = {*self._ports.values()}.union(
            *(p for one in self._surveys for p in one.ports.values())
        )
        for port in chain(range(usual, LAST_PORT + 1), range(_ANY_PORT, usual)):
            if port not in taken:
                self._note(f"port {usual}", str(usual), str(port))
                self._ports[usual] = port
                return port
        raise NotPossible(f"port {usual} on the hosts", "no port is free", _REMEDY)

    def _network(self) -> IPv4Network:
        for network in _networks():
            if not any(True for survey in self._surveys for _ in survey.overlapping(network)):
                return network
        raise NotPossible(
            "addresses inside tunnels",
            f"no network of /{TUNNELS.prefixlen} is free on all {len(self._surveys)} hosts",
            _REMEDY,
        )

    def _note(self, kind: str, usual: str, chosen: str) -> None:
        if chosen != usual:
            self.changes[kind] = f"{chosen}, because {usual} is in use on a host"


def _names(usual: str) -> Iterator[str]:
    """wg0, wg1 ...; tailscale, tailscale0 ..."""
    yield usual
    stem = re.sub(r"\d+$", "", usual)
    number = int(usual[len(stem) :] or -1)
    while True:
        number += 1
        yield f"{stem[: LONGEST_NAME - len(str(number))]}{number}"


def _networks() -> Iterator[IPv4Network]:
    """Of the usual one's size: benchmarking addresses first, then private ones from the end."""
    yield TUNNELS
    yield PUBLIC
    for block in ("10.0.0.0/8", "172.16.0.0/12"):
        yield from reversed(list(IPv4Network(block).subnets(new_prefix=TUNNELS.prefixlen)))

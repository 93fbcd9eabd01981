"""What a VPN is about to use on its nodes, so that a lab can refuse what others use already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network


@dataclass(frozen=True)
class Footprint:
    """``devices`` by node that will be created; IP ``protocols`` with the ``ports`` that are bound
    on nodes (without ports for ESP and such); inner addresses come from ``networks``; ``tables`` of
    routes and ``firewall_tables`` (nftables: names in the families ip and ip6) are its own."""

    devices: Mapping[str, str]
    ports: Mapping[int, frozenset[int]]
    networks: tuple[IPv4Network, ...]
    tables: frozenset[str] = frozenset()
    firewall_tables: frozenset[str] = frozenset()

    @property
    def unused(self) -> bool:
        """Whether nothing will be used."""
        numbered = self.ports or self.networks or self.tables
        return not (self.devices or numbered or self.firewall_tables)

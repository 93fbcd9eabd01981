"""What a host's network has: everything by one command of its shell, to be read often."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

from culvert.errors import LabError
from culvert.labs import iproute
from culvert.labs.hosts.host import SshHost
from culvert.machine.record.cpu import parse_cpu_list
from culvert.topology.plan import Attachment

_MARK = "@@"
_IPV6 = "[ ! -e /proc/net/if_inet6 ] ||"
_SECTIONS = {
    "links": "ip -j link show",
    "addresses": "ip -j -4 address show",
    "routes": "ip -j -4 route show table all",
    "rules": "ip -j rule show",
    "addresses6": f"{_IPV6} ip -j -6 address show",
    "routes6": f"{_IPV6} ip -j -6 route show table all",
    "rules6": f"{_IPV6} ip -j -6 rule show",
    "firewall": "! command -v nft >/dev/null || nft list tables 2>/dev/null",
    # Of TCP only sockets that listen (proc(5)).
    "tcp": "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep ' 0A '",
    "udp": "cat /proc/net/udp /proc/net/udp6 2>/dev/null",
    "cpus": "grep Cpus_allowed_list /proc/self/status",
}
_NEEDED = ("links", "addresses", "routes", "rules")
_OF_IPV6 = ("addresses6", "routes6", "rules6")
_NOWHERE = ("throw", "unreachable", "blackhole", "prohibit")
_PORT = re.compile(r"^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) ", re.MULTILINE)
_FIREWALL_TABLE = re.compile(r"^table (\S+) (\S+)", re.MULTILINE)
_ADDRESS = ("local", "prefixlen", "scope")
_ROUTE = ("type", "dst", "gateway", "dev", "metric", "table", "prefsrc")
_RULE = ("priority", "src", "dst", "fwmark", "table")
_LASTING = {
    "links": ("link", ("ifname", "mtu", "master")),
    "addresses": ("address", _ADDRESS),
    "addresses6": ("address", _ADDRESS),
    "routes": ("route", _ROUTE),
    "routes6": ("route", _ROUTE),
    "rules": ("rule", _RULE),
    "rules6": ("rule of IPv6", _RULE),
    "firewall": ("firewall", ("table", "family")),
}
"""What of each entry only somebody changes, and its name; counters and lifetimes change by
themselves."""


@dataclass(frozen=True)
class Survey:
    """Links, addresses, routes and rules as ``ip -j`` prints them, those of IPv6 apart;
    ``ports`` by IP protocol: bound ones of UDP, and of TCP those that listen; ``cpus`` that
    programs may use; ``firewall``: tables of nftables by ``table`` and ``family``,
    none without nft there."""

    host: str
    links: Sequence[dict[str, Any]]
    addresses: Sequence[dict[str, Any]]
    routes: Sequence[dict[str, Any]]
    rules: Sequence[dict[str, Any]]
    ports: dict[int, frozenset[int]]
    cpus: tuple[int, ...]
    firewall: Sequence[dict[str, Any]] = ()
    addresses6: Sequence[dict[str, Any]] = ()
    routes6: Sequence[dict[str, Any]] = ()
    rules6: Sequence[dict[str, Any]] = ()

    @classmethod
    def of(cls, host: SshHost) -> Survey:
        """Read it. Raises NotPossible without ``ip`` there, LabError if it fails."""
        host.require("ip", "install iproute2 on the host")
        script = "\n".join(f"echo '{_MARK}{name}'; {how}" for name, how in _SECTIONS.items())
        printed = host.run(["sh", "-c", script], check=False).stdout
        parts = printed.split(_MARK)[1:]
        found = {name: text for name, _, text in (part.partition("\n") for part in parts)}
        shown = {name: iproute.entries(found.get(name, "?"), host.name) for name in _NEEDED}
        shown |= {name: iproute.entries(found.get(name, ""), host.name) for name in _OF_IPV6}
        ports = {6: _ports(found.get("tcp", "")), 17: _ports(found.get("udp", ""))}
        cpus = parse_cpu_list(found.get("cpus", "").partition(":")[2]) or ()
        firewall = _firewall(found.get("firewall", ""))
        return cls(host.name, **shown, ports=ports, cpus=cpus, firewall=firewall)

    @property
    def devices(self) -> frozenset[str]:
        return frozenset(str(link["ifname"]) for link in self.links)

    @property
    def tables(self) -> frozenset[str]:
        """Routing tables with a route or a rule, as ``ip`` names them, without the kernel's own."""
        used = {str(entry.get("table", "main")) for entry in (*self.routes, *self.rules)}
        return frozenset(used - {"main", "local", "default", "all"})

    @property
    def firewall_tables(self) -> frozenset[str]:
        """Names of nftables' tables, of all families."""
        return frozenset(str(entry["table"]) for entry in self.firewall)

    def end(self, address: str | None) -> Attachment:
        """The device with this address. Raises LabError that lists those of links."""
        others = []
        for name, each in _each_address(self.addresses):
            if each["local"] == address:
                return Attachment(name, IPv4Interface(f"{address}/{each['prefixlen']}"))
            if each.get("scope") != "host":
                others.append(f"{each['local']} ({name})")
        raise LabError(
            f"host {self.host}",
            f"none of its devices has the IPv4 address {address or 'of the SSH connection'}",
            f"set culvert_address in the inventory to one of: {', '.join(others)}"
            if others
            else "give it an IPv4 address: links between hosts are measured in IPv4",
        )

    def overlapping(self, network: IPv4Network) -> Iterator[str]:
        """Where addresses or routes of a network are used, in words."""
        for name, each in _each_address(self.addresses):
            if IPv4Interface(f"{each['local']}/{each['prefixlen']}").network.overlaps(network):
                yield f"{name} has {each['local']}/{each['prefixlen']}"
        for route in self.routes:
            destination = str(route.get("dst", "default"))
            if route.get("type") in _NOWHERE or not re.fullmatch(r"[0-9./]+", destination):
                continue
            if IPv4Network(destination, strict=False).overlaps(network):
                yield f"a route leads to {destination} by {route.get('dev')}"

    def changed(self, after: Survey) -> list[str]:
        """What of it has changed since, in words; what was added does not count."""
        gone = []
        for kind, (what, _) in _LASTING.items():
            there = set(after._entries(kind))
            gone += [f"{what} {one}" for one in self._entries(kind) if one not in there]
        return gone

    def _entries(self, kind: str) -> list[str]:
        entries: Iterable[dict[str, Any]] = getattr(self, kind)
        if kind in ("addresses", "addresses6"):
            # The kernel replaces temporary addresses by itself (RFC 8981).
            each_address = _each_address(entries)
            lasting = [(name, each) for name, each in each_address if not each.get("temporary")]
            entries = [{"dev": name, **each} for name, each in lasting]
        if kind == "routes6":  # of table local are those that follow from addresses
            entries = [entry for entry in entries if entry.get("table") != "local"]
        keys = ("dev", *_LASTING[kind][1])
        return [
            " ".join(f"{key} {entry[key]}" for key in dict.fromkeys(keys) if key in entry)
            for entry in entries
        ]


def _each_address(links: Iterable[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for link in links:
        for each in link.get("addr_info", ()):
            if "local" in each:
                yield str(link["ifname"]), each


def _ports(text: str) -> frozenset[int]:
    """Local ports of a table of sockets (proc(5))."""
    return frozenset(int(found, 16) for found in _PORT.findall(text))


def _firewall(text: str) -> list[dict[str, Any]]:
    """From lines such as ``table inet filter`` (nft(8))."""
    found = _FIREWALL_TABLE.findall(text)
    return [{"table": table, "family": family} for family, table in found]

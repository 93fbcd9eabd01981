"""The ways between hosts, and what of their networks is free: read before anything is changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_address

from culvert.errors import LabError, NotPossible
from culvert.labs import iproute
from culvert.labs.base import Footprint
from culvert.labs.hosts.facts.survey import Survey
from culvert.labs.hosts.host import SshHost
from culvert.labs.passage import UNKNOWN, Passage
from culvert.topology.plan import Attachment

_NAMES = {6: "TCP", 17: "UDP"}
_IPSEC_PORTS = frozenset({500, 4500})
_ESP, _AH = 50, 51
_CHARON_TABLE = "220"
_FIREWALL_FAMILIES = ("ip", "ip6")
_STEPS = ("dev", "gateway", "prefsrc")

ANSWER_S = 1
_PING = f'for to do echo "@@$to"; ping -n -c 1 -W {ANSWER_S} "$to" 2>/dev/null; done'
_TTL = re.compile(r"\bttl=(\d+)")

Way = dict[str, str]
"""Device, gateway and source address of packets to an address."""


@dataclass(frozen=True)
class Reached:
    """A host and its end of the measured link."""

    host: SshHost
    end: Attachment

    def require_way(self, way: Way, other: Reached) -> None:
        """Raise LabError unless packets to the other host leave by the measured device."""
        own, there = self.end, other.end.address.ip
        if way.get("dev") != own.device or way.get("prefsrc") != str(own.address.ip):
            raise LabError(
                f"hosts {self.host.name} and {other.host.name}",
                f"packets to {there} leave {self.host.name} by {way.get('dev', 'no device')} from "
                f"{way.get('prefsrc', 'no address')}, not by {own.device} from {own.address.ip}",
                "set culvert_address of both hosts to their addresses on the link to measure",
            )


def measured_end(host: SshHost, survey: Survey) -> Attachment:
    """The device and address of the measured link: the inventory's ``culvert_address``, else the
    address that the host is reached at. Raises LabError."""
    server = host.contact.server
    return survey.end(host.entry.measured or (server[0] if server else None))


def ways_to(host: SshHost, addresses: Sequence[str]) -> dict[str, Way]:
    """The way to each address; empty if there is none."""
    if not addresses:
        return {}
    script = 'for to do echo "@@$to"; ip -j route get "$to" 2>/dev/null; done'
    printed = host.run(["sh", "-c", script, "sh", *addresses], check=False).stdout
    found = {}
    for part in printed.split("@@")[1:]:
        address, _, shown = part.partition("\n")
        way = (iproute.entries(shown, host.name) or [{}])[0]
        found[address] = {key: str(way[key]) for key in _STEPS if key in way}
    return found


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


def require_free(host: SshHost, node: str, footprint: Footprint, survey: Survey) -> None:
    """Raise NotPossible for a device, a port, addresses, tables or security associations that the
    host has already, or without the program that undoes them. Nothing has been changed then."""
    device = footprint.devices.get(node)
    if device in survey.devices:
        raise _taken(host, f"the device {device}", "exists on the host")
    for network in footprint.networks:
        for where in survey.overlapping(network):
            raise _taken(host, f"the network {network} of the tunnel's addresses", where)
    for protocol, ports in footprint.ports.items():
        for port in sorted(ports & survey.ports.get(protocol, frozenset())):
            raise _taken(host, f"{_NAMES[protocol]} port {port}", "is in use on the host")
    for table in sorted(footprint.tables & survey.tables):
        raise _taken(host, f"the routing table {table}", "has a route or a rule already")
    if footprint.firewall_tables:
        host.require(
            "nft", "install nftables on the host: it removes what the VPN's firewall leaves"
        )
    for table in sorted(footprint.firewall_tables & survey.firewall_tables):
        raise _taken(host, f"the nftables table {table}", "exists on the host")
    if uses_ipsec(footprint):
        _require_no_ipsec(host)


def bar(host: SshHost, network: IPv4Network) -> None:
    """Packets to inner addresses never leave by another route of the main table, such as the
    default one; VPNs' own tables are still searched."""
    words = ("throw", str(network), "metric", "4294967295")
    shown = ["ip", "route", "show", "type", "throw", "exact", str(network)]
    if host.run(shown, check=False).stdout:
        return
    host.undo(["ip", "route", "delete", *words])
    host.run(["ip", "route", "add", *words], check=False)


def _taken(host: SshHost, what: str, why: str) -> NotPossible:
    return NotPossible(
        f"host {host.name}, {what}",
        why,
        "another VPN may run on the host: use another host, or stop it for the time of the run",
    )


def _require_no_ipsec(host: SshHost) -> None:
    """The drivers of IPsec flush the kernel's databases, so they must be empty. Entries are counted
    there: they contain keys."""
    for kind in ("state", "policy"):
        # Policies of sockets belong to IKE daemons, which bind the port.
        count = ["sh", "-c", f"ip xfrm {kind} list 2>/dev/null | grep -c '^src '"]
        entries = host.run(count, check=False).stdout.strip()
        if entries not in ("", "0"):
            raise _taken(host, f"IPsec's {kind} database", f"has {entries} entries already")


def undo_ipsec(host: SshHost) -> None:
    """What a killed IKE daemon leaves in the kernel is removed at the end: all of it is the run's,
    because there was none before."""
    for words in (
        ("xfrm", "state", "flush"),
        ("xfrm", "policy", "flush"),
        ("route", "flush", "table", _CHARON_TABLE),
        ("rule", "delete", "table", _CHARON_TABLE),
    ):
        host.undo(["ip", *words])


def undo_firewall(host: SshHost, tables: Iterable[str]) -> None:
    """Tables of nftables that a killed program leaves are removed at the end: all of those names
    are the run's, because there were none before."""
    for table in sorted(tables):
        for family in _FIREWALL_FAMILIES:
            host.undo(["nft", "delete", "table", family, table])


def uses_ipsec(footprint: Footprint) -> bool:
    """Whether a VPN with this footprint writes to the kernel's IPsec databases."""
    udp = footprint.ports.get(17, frozenset())
    return bool(udp & _IPSEC_PORTS or footprint.ports.keys() & {_ESP, _AH})


def is_routed(text: str) -> bool:
    """Whether routes decide the way to an address; a link-local one has its device in it."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return address.version == 4 or not address.is_link_local


def is_ipv4(text: str) -> bool:
    """Whether a text is an IPv4 address."""
    try:
        IPv4Address(text)
    except ValueError:
        return False
    return True

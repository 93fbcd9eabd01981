"""What a host's network already has: read before anything is changed, and read back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

from culvert.errors import LabError, NotPossible
from culvert.labs.footprint import Footprint
from culvert.labs.hosts.host import SshHost
from culvert.topology.plan import Attachment

_SOCKETS = {6: ("/proc/net/tcp", "/proc/net/tcp6"), 17: ("/proc/net/udp", "/proc/net/udp6")}
_NAMES = {6: "TCP", 17: "UDP"}
_LISTENS = "0A"
_IPSEC_PORTS = frozenset({500, 4500})
_ESP, _AH = 50, 51
_NOWHERE = ("throw", "unreachable", "blackhole", "prohibit")
_CHARON_TABLE = "220"


def ip(host: SshHost, *words: str) -> Any:
    """What ``ip -j`` prints."""
    program = host.require("ip", "install iproute2 there")
    done = host.run([program, "-j", *words])
    return json.loads(done.stdout or "[]")


def measured_end(host: SshHost) -> Attachment:
    """The device and address of the measured link: the inventory's ``culvert_address``, else the
    address that the host is reached at. Raises LabError."""
    server = host.contact.server
    wanted = host.entry.measured or (server[0] if server else None)
    addresses = ip(host, "-4", "address", "show")
    for link in addresses:
        for each in link.get("addr_info", ()):
            if each.get("local") == wanted:
                address = IPv4Interface(f"{wanted}/{each['prefixlen']}")
                return Attachment(str(link["ifname"]), address)
    shown = ", ".join(
        f"{each['local']} ({link['ifname']})"
        for link in addresses
        for each in link.get("addr_info", ())
    )
    raise LabError(
        f"host {host.name}",
        f"none of its devices has the address {wanted or 'of the SSH connection'}",
        f"set culvert_address in the inventory to one of: {shown}",
    )


def route_to(host: SshHost, address: str) -> dict[str, str]:
    """Device, gateway and source of the way to an address; raises LabError without one."""
    (found,) = ip(host, "route", "get", address)
    return {key: str(found[key]) for key in ("dev", "gateway", "prefsrc") if key in found}


def require_route(host: SshHost, own: Attachment, other: SshHost, there: Attachment) -> None:
    """Raise LabError unless packets to the other host leave by the measured device."""
    way = route_to(host, str(there.address.ip))
    if way.get("dev") != own.device or way.get("prefsrc") != str(own.address.ip):
        raise LabError(
            f"hosts {host.name} and {other.name}",
            f"packets to {there.address.ip} leave {host.name} by {way.get('dev')} from "
            f"{way.get('prefsrc')}, not by {own.device} from {own.address.ip}",
            "set culvert_address of both hosts to their addresses on the link to measure",
        )


def require_free(host: SshHost, node: str, footprint: Footprint) -> None:
    """Raise NotPossible for a device, a port, addresses or security associations that the host has
    already. Nothing has been changed then."""
    device = footprint.devices.get(node)
    links = ip(host, "link", "show")
    if device is not None and any(link["ifname"] == device for link in links):
        raise _taken(host, f"the device {device}", "exists there")
    for network in footprint.networks:
        for where in _overlapping(host, network):
            raise _taken(host, f"the network {network} of the tunnel's addresses", where)
    for protocol, ports in footprint.ports.items():
        for port in sorted(ports & _bound(host, protocol)):
            raise _taken(host, f"{_NAMES[protocol]} port {port}", "is in use there")
    udp = footprint.ports.get(17, frozenset())
    if udp & _IPSEC_PORTS or footprint.ports.keys() & {_ESP, _AH}:
        _require_no_ipsec(host)


def bar(host: SshHost, network: IPv4Network) -> None:
    """Packets to inner addresses never leave by another route of the main table, such as the
    default one; VPNs' own tables are still searched."""
    words = ("throw", str(network), "metric", "4294967295")
    if host.run(["ip", "route", "add", *words], check=False).returncode == 0:
        host.undo(["ip", "route", "delete", *words])


def _taken(host: SshHost, what: str, why: str) -> NotPossible:
    return NotPossible(
        f"host {host.name}, {what}",
        why,
        "another VPN may run there: use another host, or stop it for the time of the run",
    )


def _overlapping(host: SshHost, network: IPv4Network) -> Sequence[str]:
    found = []
    for link in ip(host, "-4", "address", "show"):
        for each in link.get("addr_info", ()):
            if IPv4Interface(f"{each['local']}/{each['prefixlen']}").network.overlaps(network):
                found.append(f"{link['ifname']} has {each['local']}/{each['prefixlen']}")
    for route in ip(host, "-4", "route", "show", "table", "all"):
        destination = str(route.get("dst", "default"))
        if route.get("type") in _NOWHERE:
            continue
        if re.fullmatch(r"[0-9./]+", destination) and IPv4Network(destination).overlaps(network):
            found.append(f"a route leads to {destination} by {route.get('dev')}")
    return found


def bound_ports(host: SshHost) -> frozenset[int]:
    """Ports of UDP and of listening TCP sockets."""
    return _bound(host, 6) | _bound(host, 17)


def _bound(host: SshHost, protocol: int) -> frozenset[int]:
    """Local ports of sockets: of TCP those that listen."""
    ports = set()
    for path in _SOCKETS.get(protocol, ()):
        try:
            lines = host.text(path).splitlines()[1:]
        except OSError:
            continue  # no IPv6 there
        for line in lines:
            words = line.split()
            if protocol == 17 or words[3] == _LISTENS:
                ports.add(int(words[1].rpartition(":")[2], 16))
    return frozenset(ports)


def _require_no_ipsec(host: SshHost) -> None:
    """The drivers of IPsec flush the kernel's databases, so they must be empty."""
    for kind in ("state", "policy"):
        done = host.run(["ip", "xfrm", kind, "list"], check=False)
        # Policies of sockets belong to IKE daemons, which bind the port.
        entries = [line for line in done.stdout.splitlines() if line.startswith("src ")]
        if done.returncode == 0 and entries:
            raise _taken(host, f"IPsec's {kind} database", f"has {len(entries)} entries already")
    for rule in ip(host, "rule", "show"):
        if str(rule.get("table")) == _CHARON_TABLE:
            raise _taken(host, f"the routing table {_CHARON_TABLE}", "has a rule already")


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


def uses_ipsec(footprint: Footprint) -> bool:
    """Whether a VPN with this footprint writes to the kernel's IPsec databases."""
    udp = footprint.ports.get(17, frozenset())
    return bool(udp & _IPSEC_PORTS or footprint.ports.keys() & {_ESP, _AH})


def is_ipv4(text: str) -> bool:
    """Whether a text is an IPv4 address."""
    try:
        IPv4Address(text)
    except ValueError:
        return False
    return True

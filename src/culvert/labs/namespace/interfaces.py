"""Interfaces, addresses and routes of a namespace, over netlink."""

from __future__ import annotations

import errno
import socket
from ipaddress import ip_interface
from typing import Any

from pyroute2.netlink.exceptions import NetlinkError

from culvert.errors import LabError
from culvert.labs.endpoint import LinkState
from culvert.labs.namespace.thread import NamespaceThread
from culvert.labs.node import listed
from culvert.topology.ip import Address, Interface, IpVersion, Subnet
from culvert.waiting import wait_until

_RTN_LOCAL = 2


def read(namespace: NamespaceThread, device: str) -> LinkState | None:
    """The interface as reported by the kernel, or None if there is none of that name."""

    def ask(netlink: Any) -> LinkState | None:
        try:
            (link,) = netlink.link("get", ifname=device)
            addresses = netlink.get_addr(index=link["index"], family=socket.AF_UNSPEC)
        except NetlinkError as error:
            if error.code == errno.ENODEV:
                return None
            raise
        information = link.get_attr("IFLA_LINKINFO")
        return LinkState(
            name=device,
            kind=information.get_attr("IFLA_INFO_KIND") or "" if information else "",
            mtu=link.get_attr("IFLA_MTU"),
            up=bool(link["flags"] & 1),
            addresses=listed(_interface(address) for address in addresses),
        )

    return namespace.netlink(ask, f"interface {device}")


def addresses(namespace: NamespaceThread) -> list[tuple[str, Interface]]:
    """All addresses of IPv4, each with its interface."""
    found = namespace.netlink(
        lambda netlink: list(netlink.get_addr(family=socket.AF_INET)), "all addresses"
    )
    return [(one.get_attr("IFA_LABEL"), _interface(one)) for one in found]


def wait_ready(namespace: NamespaceThread, device: str, deadline_s: float = 5.0) -> None:
    """Wait until the interface passes packets; raises DeadlineExceeded.

    An interface that is up drops packets until the kernel has processed its carrier event in a
    work queue (net/core/link_watch.c): then its operational state is UP.
    """

    def ready(netlink: Any) -> bool:
        (link,) = netlink.link("get", ifname=device)
        return bool(link.get_attr("IFLA_OPERSTATE") == "UP")

    what = f"the carrier of interface {device}"
    wait_until(
        lambda: namespace.netlink(ready, what),
        what=what,
        deadline_s=deadline_s,
        remedy="check whether the other end is up",
    )


def wait_local(namespace: NamespaceThread, address: Interface) -> None:
    """Wait until the namespace accepts packets to its address; raises DeadlineExceeded.

    The kernel puts an IPv6 address into use in a work queue, once the interface has its carrier:
    until then no socket can be bound to it, and packets to it are refused (net/ipv6/addrconf.c).
    """

    def is_local(netlink: Any) -> bool:
        try:
            (route,) = netlink.route("get", family=family(address.ip), dst=str(address.ip))
        except NetlinkError:  # there is no way to it
            return False
        return int(route["type"]) == _RTN_LOCAL

    what = f"address {address.ip}"
    wait_until(
        lambda: namespace.netlink(is_local, what),
        what=f"{what} in use",
        deadline_s=5.0,
        poll_s=0.002,
        remedy="see whether IPv6 is switched off on this machine (net.ipv6.conf)",
    )


def add_address(namespace: NamespaceThread, device: str, address: Interface) -> None:
    """Add an address to the interface."""
    namespace.netlink(
        lambda netlink: netlink.addr(
            "add",
            index=index_of(device),
            family=family(address.ip),
            address=str(address.ip),
            prefixlen=address.network.prefixlen,
        ),
        f"address {address} on {device}",
    )


def change(namespace: NamespaceThread, device: str, *, up: bool | None, mtu: int | None) -> None:
    """Bring the interface up or down, set its MTU."""
    wanted: dict[str, object] = {}
    if mtu is not None:
        wanted["mtu"] = mtu
    if up is not None:
        wanted["state"] = "up" if up else "down"
    if wanted:
        namespace.netlink(
            lambda netlink: netlink.link("set", index=index_of(device), **wanted),
            f"{device}: {wanted}",
        )


def add(namespace: NamespaceThread, device: str, kind: str, attributes: dict[str, object]) -> None:
    """Create an interface."""
    namespace.netlink(
        lambda netlink: netlink.link("add", ifname=device, kind=kind, **attributes),
        f"interface {device} of kind {kind}",
    )


def remove(namespace: NamespaceThread, device: str) -> None:
    """Remove an interface; no error if there is none."""

    def delete(netlink: Any) -> None:
        try:
            netlink.link("del", ifname=device)
        except NetlinkError as error:
            if error.code != errno.ENODEV:
                raise

    namespace.netlink(delete, f"interface {device}")


def add_route(
    namespace: NamespaceThread,
    destination: Subnet,
    *,
    device: str | None,
    gateway: Address | None,
) -> None:
    """Add a route to the main table."""
    if device is None and gateway is None:
        raise LabError(
            f"route to {destination}", "has no device or gateway", "name a device or a gateway"
        )

    def insert(netlink: Any) -> None:
        way: dict[str, object] = {}
        if device is not None:
            way["oif"] = index_of(device)
        if gateway is not None:
            way["gateway"] = str(gateway)
        netlink.route("add", family=family(destination), dst=str(destination), **way)

    namespace.netlink(insert, f"route to {destination}")


def family(address: Address | Subnet) -> socket.AddressFamily:
    """That of an address or a network."""
    return socket.AF_INET if IpVersion(address.version) is IpVersion.V4 else socket.AF_INET6


def refuse(namespace: NamespaceThread, destination: Subnet) -> None:
    """Packets that no other route takes are refused, as where no route exists: they do not follow a
    default route."""
    last = 2**32 - 1  # any route to the same network comes first

    def insert(netlink: Any) -> None:
        version = family(destination.network_address)
        netlink.route("add", family=version, dst=str(destination), type="throw", priority=last)

    namespace.netlink(insert, f"route to {destination}")


def objects(namespace: NamespaceThread) -> list[str]:
    """All interfaces, addresses, routes and rules of both versions, as comparable texts; without
    the addresses that the kernel gives each device and takes back later."""
    return namespace.netlink(_objects, "all interfaces, addresses, routes and rules")


def _objects(netlink: Any) -> list[str]:
    found: list[str] = []
    for link in netlink.get_links():
        up = "up" if link["flags"] & 1 else "down"
        found.append(f"link {link.get_attr('IFLA_IFNAME')} {up} mtu {link.get_attr('IFLA_MTU')}")
    for version, words in ((socket.AF_INET, ""), (socket.AF_INET6, " of IPv6")):
        for address in netlink.get_addr(family=version):
            if _permanent(prefix := f"{address.get_attr('IFA_ADDRESS')}/{address['prefixlen']}"):
                on = address.get_attr("IFA_LABEL") or f"device {address['index']}"
                found.append(f"address {prefix} on {on}")
        for route in netlink.get_routes(family=version):
            if _permanent(destination := f"{route.get_attr('RTA_DST')}/{route['dst_len']}"):
                table = route.get_attr("RTA_TABLE")
                found.append(f"route{words} {destination} in table {table}")
        for rule in netlink.get_rules(family=version):
            priority, table = rule.get_attr("FRA_PRIORITY"), rule.get_attr("FRA_TABLE")
            found.append(f"rule{words} {priority} to table {table}")
    return found


def _permanent(prefix: str) -> bool:
    return not prefix.startswith(("fe80:", "ff"))


def index_of(device: str) -> int:
    """The index of an interface of the calling thread's namespace; raises NetlinkError ENODEV."""
    try:
        return socket.if_nametoindex(device)
    except OSError as error:
        raise NetlinkError(errno.ENODEV, f"no interface {device}") from error


def _interface(message: Any) -> Interface:
    # IFA_ADDRESS is the peer's on a point-to-point interface, IFA_LOCAL is ours.
    local = message.get_attr("IFA_LOCAL") or message.get_attr("IFA_ADDRESS")
    return ip_interface(f"{local}/{message['prefixlen']}")

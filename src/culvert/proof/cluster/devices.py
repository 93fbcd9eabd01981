"""The devices by which a node's packets leave it, and its addresses, from the kernel's files. Pure.

A device is the node's own if hardware is behind it, or if it is of Ethernet, the node has a network
on it, and it neither encapsulates, nor bridges, nor hands packets to a program, nor leads to
another device of the node. Below a VLAN or the like the device that it leads to counts in its
place. Devices of pods have routes to single addresses only.

A device without any route may lead to another node too, and frames may be copied to it: it is a
silent one, unless it is a port of a bridge or switch, or the end of a pod of the trial.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

DEVICES = "/proc/net/dev"
ROUTES = "/proc/net/route"
TRIE = "/proc/net/fib_trie"
MOST_ADDRESSES = 128
"""A node has more if its proxy gives it the address of every service (IPVS): each would be compared
with each packet."""
_ONE_ADDRESS = 0xFFFFFFFF
_UP, _NO_ARP = 0x1, 0x80
"""IFF_UP and IFF_NOARP of the kernel's if.h; dummies and ifb devices have no ARP."""
_ETHERNET = 1
"""ARPHRD_ETHER of the kernel's if_arp.h; those of tunnels (ipip, gre, vti, xfrm) are others."""
_VIRTUAL = frozenset(
    {"vxlan", "geneve", "bridge", "wireguard", "gre", "ipip", "ip6tnl", "tun", "vti", "xfrm"}
)


@dataclass(frozen=True)
class Device:
    """``kind`` is the kernel's DEVTYPE, ``tun`` for one of a program, else empty; ``link`` is the
    index of the device that it leads to: its own, one here or one elsewhere, 0 of a tunnel."""

    name: str
    kind: str
    hardware: bool
    network: bool
    arp_type: int
    index: int
    link: int
    routed: bool = False
    """Whether a route leads to it, to a network or a single address."""
    flags: int = _UP
    port: bool = False
    """Whether another device has it as a port: a bridge, a switch."""

    @property
    def carries_frames(self) -> bool:
        """Whether it is up, and its frames go to a neighbour."""
        return bool(self.flags & _UP) and not self.flags & _NO_ARP

    @property
    def may_be_own(self) -> bool:
        """Whether packets may leave the node there, as far as it alone shows."""
        return self.arp_type == _ETHERNET and self.kind not in _VIRTUAL and self.link != 0


def names(devices: str) -> list[str]:
    """All devices but the loopback, from /proc/net/dev."""
    found = [line.partition(":")[0].strip() for line in devices.splitlines()[2:]]
    return [name for name in found if name and name != "lo"]


def files_of(name: str) -> dict[str, str]:
    """The files to read of a device, by what they tell; any of them may be missing."""
    base = f"/sys/class/net/{name}"
    return {
        "kind": f"{base}/uevent",
        "hardware": f"{base}/device/uevent",
        "tun": f"{base}/tun_flags",
        "type": f"{base}/type",
        "index": f"{base}/ifindex",
        "link": f"{base}/iflink",
        "flags": f"{base}/flags",
        "port": f"{base}/master/ifindex",
    }


def device(name: str, texts: Mapping[str, str | None], routes: str) -> Device:
    """From the texts of ``files_of`` and of /proc/net/route."""
    lines = dict(line.split("=", 1) for line in (texts["kind"] or "").splitlines() if "=" in line)
    kind = "tun" if texts["tun"] is not None else lines.get("DEVTYPE", "")
    arp_type, index, link = (int(texts[what] or 0) for what in ("type", "index", "link"))
    hardware, network = texts["hardware"] is not None, name in _with_network(routes)
    return Device(
        name,
        kind,
        hardware,
        network,
        arp_type,
        index,
        link,
        routed=any(row[0] == name for row in _rows(routes)),
        flags=int(texts["flags"] or "0", 16),
        port=texts["port"] is not None,
    )


def below(devices: Sequence[Device]) -> dict[tuple[str, str], str]:
    """The file that exists if a device is stacked on another one here, by the names of both, for
    those whose link may be that; an index may be that of a device elsewhere as well."""
    by_index = {each.index: each for each in devices}
    return {
        (each.name, by_index[each.link].name): f"/sys/class/net/{each.name}"
        f"/lower_{by_index[each.link].name}/ifindex"
        for each in devices
        if each.link != each.index and each.link in by_index
    }


def own(devices: Sequence[Device], stacked: Mapping[str, str]) -> list[str]:
    """The names of those that are the node's own; ``stacked`` has the name of the device below by
    that of the one above."""
    networks = {each.name for each in devices if each.network}
    candidates = {each.name for each in devices if each.may_be_own}
    for _ in devices:  # at most so many are stacked
        networks |= {
            lower for upper, lower in stacked.items() if upper in networks and upper in candidates
        }
    by_index = {each.index: each for each in devices}
    return [
        each.name
        for each in devices
        if each.hardware
        or (
            each.name in networks
            and each.name in candidates
            and each.name not in stacked
            and not _leads_here(each, by_index.get(each.link))
        )
    ]


def silent(
    devices: Sequence[Device], stacked: Mapping[str, str], ends: Collection[int]
) -> list[str]:
    """The names of those without a route that may lead to another node; ``ends`` are the indices
    of the pods' devices here, on which the pods' packets are as they were sent."""
    by_index = {each.index: each for each in devices}
    return [
        each.name
        for each in devices
        if each.may_be_own
        and each.carries_frames
        and not (each.hardware or each.routed or each.port)
        and each.name not in stacked
        and each.index not in ends
        and not _leads_here(each, by_index.get(each.link))
    ]


def _leads_here(device: Device, linked: Device | None) -> bool:
    """Whether a device leads to another one here: the other end of a pair, or hardware. The index
    of an end elsewhere, such as that of a node that is a container, may be one of another device
    here too."""
    if linked is None or linked is device:
        return False
    return linked.link == device.index or linked.hardware


def _with_network(routes: str) -> set[str]:
    """Devices with a route to more than one address."""
    return {row[0] for row in _rows(routes) if int(row[7], 16) != _ONE_ADDRESS}


def _rows(routes: str) -> list[list[str]]:
    return [line.split() for line in routes.splitlines()[1:]]


def local_addresses(trie: str) -> list[IPv4Address]:
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
    return own if len(own) <= MOST_ADDRESSES else []

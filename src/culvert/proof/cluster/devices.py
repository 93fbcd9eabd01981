"""The devices by which a node's packets leave it, from the kernel's files. Pure.

A device is the node's own if hardware is behind it, or if the node has a network on it and it
neither encapsulates, nor bridges, nor hands packets to a program. Devices of pods have routes to
single addresses only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DEVICES = "/proc/net/dev"
ROUTES = "/proc/net/route"
_ONE_ADDRESS = 0xFFFFFFFF
_VIRTUAL = frozenset(
    {"vxlan", "geneve", "bridge", "wireguard", "gre", "ipip", "ip6tnl", "tun", "vti", "xfrm"}
)


@dataclass(frozen=True)
class Device:
    """``kind`` is the kernel's DEVTYPE, ``tun`` for one of a program, else empty."""

    name: str
    kind: str
    hardware: bool
    network: bool

    @property
    def is_own(self) -> bool:
        """Whether packets leave the node there."""
        return self.hardware or (self.network and self.kind not in _VIRTUAL)


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
    }


def device(name: str, texts: Mapping[str, str | None], routes: str) -> Device:
    """From the texts of ``files_of`` and of /proc/net/route."""
    lines = dict(line.split("=", 1) for line in (texts["kind"] or "").splitlines() if "=" in line)
    kind = "tun" if texts["tun"] is not None else lines.get("DEVTYPE", "")
    return Device(name, kind, texts["hardware"] is not None, name in _with_network(routes))


def _with_network(routes: str) -> set[str]:
    """Devices with a route to more than one address."""
    rows = [line.split() for line in routes.splitlines()[1:]]
    return {row[0] for row in rows if int(row[7], 16) != _ONE_ADDRESS}

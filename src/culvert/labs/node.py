"""A node of a lab on which VPNs are started: a host with its own processes, files, interfaces,
addresses and routes.

Spawn, run, read, write, dial and find are its primitives, whether it is a namespace or an SSH host.
Interfaces, addresses and routes use them with iproute2's ``ip``; a node with a faster method, such
as netlink, overrides these.
"""

from __future__ import annotations

import signal
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, ip_interface
from pathlib import Path
from typing import Any

from typing_extensions import TypeVar

from culvert.labs import iproute
from culvert.labs.capability import TUNNEL, Capability
from culvert.labs.endpoint import Endpoint, LinkState
from culvert.labs.process import Process
from culvert.topology.ip import Interface
from culvert.topology.spec import Steering


def mode_of(*, secret: bool, executable: bool) -> int:
    """Of a file that ``Node.write`` makes."""
    readable = 0o400 if secret else 0o444
    return readable | 0o200 | (readable >> 2 if executable else 0)


class Node(Endpoint):
    """An endpoint with files and sockets, whose interfaces and routes can be changed."""

    directory: Path
    """The node's own directory, mode 0700: configuration, secrets, logs. Removed with the lab."""

    def daemon(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        capabilities: AbstractSet[Capability] = TUNNEL,
    ) -> Process:
        """``spawn`` for a program of a VPN, which gets no more than ``capabilities`` where the lab
        can limit them."""
        del capabilities
        return self.spawn(argv, name=name, env=env)

    def kill(self, process: int, number: signal.Signals) -> None:
        """kill(2): a signal to a process, by ``Process.pid``, or, if negative, to its group."""
        name = number.name.removeprefix("SIG")
        self.run([self.require("kill", "install procps"), "-s", name, "--", str(process)])

    @abstractmethod
    def write(
        self, path: str, text: str | bytes, *, secret: bool = False, executable: bool = False
    ) -> Path:
        """Write a file below ``directory``; return its path. Its mode is 0600 if secret, else 0644;
        who may read it may execute it too if ``executable``.

        A relative path is one below ``directory``, here and in read(), exists(), remove(), dial().
        """

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file of the node's; no error if there is none."""

    def keep_changes(self, *paths: str) -> None:
        """Programs that are started later change these existing files, or what is directly in these
        existing directories, on the node only: ``keep_changes("/etc", "/etc/hosts")``. A node that
        is a machine of its own needs nothing for that.

        Raises NotPossible if the kernel cannot do it.
        """
        del paths

    @abstractmethod
    def dial(self, path: str) -> socket.socket:
        """Connect to a unix socket (stream) on the node; raises OSError if no process listens."""

    # -- interfaces, by iproute2 -------------------------------------------------------------------

    def link(self, device: str) -> LinkState | None:
        """The interface, or None if the node has none of that name."""
        shown = self.run([*self._ip(), "-d", "-j", "address", "show", "dev", device], check=False)
        return (
            _link_state(iproute.entries(shown.stdout, self.name), device)
            if shown.returncode == 0
            else None
        )

    def addresses(self) -> Sequence[tuple[str, Interface]]:
        """All its addresses of IPv4, each with its interface."""
        shown = self.run([*self._ip(), "-j", "-4", "address", "show"]).stdout
        return [
            (link["ifname"], IPv4Interface(f"{each['local']}/{each['prefixlen']}"))
            for link in iproute.entries(shown, self.name)
            for each in link.get("addr_info", ())
        ]

    def add_address(self, device: str, address: Interface) -> None:
        """Add an address to the interface."""
        self.run([*self._ip(), "address", "add", str(address), "dev", device])

    def set_link(self, device: str, *, up: bool | None = None, mtu: int | None = None) -> None:
        """Bring an interface up or down, set its MTU."""
        words = [] if mtu is None else ["mtu", str(mtu)]
        if up is not None:
            words.append("up" if up else "down")
        self.run([*self._ip(), "link", "set", "dev", device, *words])

    def add_link(self, device: str, kind: str, **attributes: object) -> None:
        """Create an interface; ``attributes`` have pyroute2's names (vxlan_id, vxlan_group ...)."""
        words = _link_words(kind, attributes)
        self.run([*self._ip(), "link", "add", "name", device, *words])

    def del_link(self, device: str) -> None:
        """Remove an interface; no error if there is none."""
        if self.link(device) is not None:
            self.run([*self._ip(), "link", "delete", "dev", device])

    def add_route(
        self,
        destination: IPv4Network,
        *,
        device: str | None = None,
        gateway: IPv4Address | None = None,
    ) -> None:
        """Add a route to the main table."""
        words = ["via", str(gateway)] if gateway is not None else []
        words += ["dev", device] if device is not None else []
        self.run([*self._ip(), "route", "add", str(destination), *words])

    def set_sysctl(self, name: str, value: str) -> None:
        """Write a setting of its kernel (``net/ipv4/conf/wg0/forwarding``), unless it has the
        value."""
        before = self.sysctl(name)
        if before != value:
            self._note_sysctl(name, before)
            self.run(self._write_sysctl(name, value))

    def sysctl(self, name: str) -> str:
        """A setting of its kernel; raises OSError if there is none of that name."""
        return self.text(f"/proc/sys/{name}")

    def _note_sysctl(self, name: str, before: str) -> None:
        """Called before a setting is written."""

    def _write_sysctl(self, name: str, value: str) -> list[str]:
        return [self.require("sysctl", "install procps on the host"), "-q", "-w", f"{name}={value}"]

    def _ip(self) -> list[str]:
        return [self.require("ip", "install iproute2 on the host")]


AnyNode = TypeVar("AnyNode", bound=Endpoint, default=Node)
"""The nodes of a lab; those of most labs have all that a ``Node`` has."""


class Enterable(ABC):
    """A node of this kernel, whose network namespace a probe on another such node can enter."""

    @property
    @abstractmethod
    def namespace_file(self) -> str:
        """The file of its network namespace, which exists while the node is open."""


class Steerable(ABC):
    """A node whose devices are its own: steering their packets changes no other node."""

    @abstractmethod
    def steer(self, device: str, requested: Steering) -> None:
        """Steer the packets of a device to the node's CPUs. Raises NotPossible if the device or
        the kernel does not support it."""


_ATTRIBUTES = {
    "vxlan_id": "id",
    "vxlan_port": "dstport",
    "vxlan_group": "remote",
    "vxlan_local": "local",
    "vxlan_learning": "learning",
    "gre_local": "local",
    "gre_remote": "remote",
}


def listed(addresses: Iterable[Interface]) -> tuple[Interface, ...]:
    """Addresses in the order of ``LinkState.addresses``."""
    known = [
        each for each in addresses if isinstance(each, IPv4Interface) or not each.is_link_local
    ]
    return tuple(sorted(known, key=lambda each: each.version))


def _link_words(kind: str, attributes: Mapping[str, object]) -> list[str]:
    """The arguments of ``ip link add`` for attributes with pyroute2's names."""
    before, after = [], []
    for name, value in attributes.items():
        if name == "address":
            before += ["address", str(value)]
        elif value is False:
            after.append(f"no{_ATTRIBUTES.get(name, name)}")
        else:
            after += [_ATTRIBUTES.get(name, name), *([] if value is True else [str(value)])]
    return [*before, "type", kind, *after]


def _link_state(links: Sequence[dict[str, Any]], device: str) -> LinkState | None:
    for shown in links:
        if shown.get("ifname") == device:
            addresses = listed(
                ip_interface(f"{each['local']}/{each['prefixlen']}")
                for each in shown.get("addr_info", ())
                if each.get("family") in ("inet", "inet6")
            )
            kind = shown.get("linkinfo", {}).get("info_kind", "")
            return LinkState(device, kind, shown["mtu"], "UP" in shown["flags"], addresses)
    return None

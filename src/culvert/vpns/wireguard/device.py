"""What makes WireGuard's device: a program in user space, with a tun device, or the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from culvert.vpns.authoring import (
    Capability,
    DataPath,
    Host,
    LabError,
    Missing,
    Node,
    NotPossible,
    Process,
    Vpn,
    VpnError,
    missing_from_kernel,
    missing_tun,
    package_version,
    read_go_build,
)
from culvert.vpns.wireguard.control import TOOL, Control, ControlSocket, ControlTool
from culvert.vpns.wireguard.packet import WIREGUARD, Format, Padding
from culvert.vpns.wireguard.uapi import Pair

CAPABILITIES = frozenset({Capability.NET_ADMIN})


@dataclass(frozen=True)
class Program:
    """A WireGuard in user space: it creates a tun device of the name that is its last argument, and
    is configured at its socket in ``sockets``.

    ``path`` is where it must be; ``but`` where one of the same name is another program;
    ``offloads``: it takes and gives super-packets; ``changes_peers``: a peer that it has can be
    changed; ``reports_age``: as the time of the last handshake it reports how long ago that was;
    ``started``: its log has this text when it may be queried, if that is later than the socket
    exists; ``keeps_port``: it can end when its port is changed, so it gets it with its key;
    ``settings``: of each device, beside its key; ``remedy``: how it gets onto a host, where no role
    installs it.
    """

    name: str
    arguments: Sequence[str] = ("--foreground",)
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    path: str | None = None
    but: str | None = None
    offloads: bool = True
    changes_peers: bool = True
    reports_age: bool = False
    format: Format = WIREGUARD
    started: str = ""
    keeps_port: bool = False
    sockets: str = "/run/wireguard"
    settings: tuple[Pair, ...] = ()
    remedy: str = ""
    data_path: ClassVar[DataPath] = DataPath.USER

    def find(self, host: Host) -> str | None:
        """Its path there; None if it is missing."""
        if self.path is not None:
            return self.path if host.exists(self.path) else None
        found = host.find(self.name)
        return None if found == self.but else found

    def require(self, vpn: Vpn, host: Host) -> str:
        """The path; raises NotPossible if there is none."""
        path = self.find(host)
        if path is None:
            lacks = self._lacks(vpn)
            raise NotPossible(vpn.id, f"{lacks.what} is missing", lacks.remedy)
        return path

    def missing(self, vpn: Vpn, host: Host) -> list[Missing]:
        """What is missing on the host."""
        return [*([] if self.find(host) else [self._lacks(vpn)]), *missing_tun(host)]

    def control(self, device: str) -> Control:
        """The configuration of a device."""
        return self._socket(device)

    def version(self, vpn: Vpn, host: Host) -> str:
        """Of the module, else of the package, else the printed one; and of Go's compiler."""
        path = self.require(vpn, host)
        build = read_go_build(host, path)
        compiler = f" ({build.go})" if build else ""
        if build and build.version:
            return build.version + compiler
        return (package_version(host, self.name) or self._printed(host, path)) + compiler

    def start(self, vpn: Vpn, node: Node, device: str) -> Process | None:
        """Start it as one of the VPN's, with a device that is down; returns when it answers on its
        socket. Raises VpnError."""
        process = node.daemon(
            [self.require(vpn, node), *self.arguments, device],
            name=f"{self.name}-{node.name}",
            env=self.environment,
            capabilities=CAPABILITIES,
        )
        vpn.processes[node.name].append(process)
        control, what = self.control(device), f"{self.name} on node {node.name} answered"
        if self.started:
            vpn.await_fact(lambda: self.started in process.log_text(), process, what)
        vpn.await_fact(lambda: control.state(node) is not None, process, what)
        return process

    def remove(self, node: Node, device: str) -> None:
        """The socket, which a program leaves that was killed."""
        node.remove(self._socket(device).path)

    def _socket(self, device: str) -> ControlSocket:
        return ControlSocket(device, self.sockets)

    def _lacks(self, vpn: Vpn) -> Missing:
        if self.remedy:
            return Missing(self.name, self.remedy)
        return Missing.to_install(f"{self.name} for {vpn.id}", vpn.id)

    def _printed(self, host: Host, path: str) -> str:
        """The printed version, such as 0.0.20220316."""
        first = host.run([path, "--version"], check=False).stdout.partition("\n")[0]
        return first.removeprefix(f"{self.name} ").removeprefix("v") or "unknown"


_DISTRIBUTIONS = "/usr/bin/wireguard-go"
QUIET = {"WG_PROCESS_FOREGROUND": "1"}
"""Otherwise it fills the log with advice."""
CURRENT = Program("wireguard-go", environment=QUIET, but=_DISTRIBUTIONS)
"""The distribution's must not be used for it: it is five times slower."""
_STAYS = ("--foreground", "--disable-drop-privileges")
_NO_COLOUR = {"NO_COLOR": "1"}
BORINGTUN = Program(
    "boringtun-cli",
    _STAYS,
    _NO_COLOUR,
    offloads=False,
    changes_peers=False,
    reports_age=True,
    format=Format(Padding.NONE),
)
GOTATUN = Program(
    "gotatun",
    _STAYS,
    _NO_COLOUR,
    offloads=False,
    format=Format(Padding.BEYOND_MTU),
    started="GotaTun started successfully",  # a query before can end it with a panic
    keeps_port=True,
)
DISTRIBUTIONS = Program("wireguard-go", environment=QUIET, path=_DISTRIBUTIONS, offloads=False)


class Kernel(Program):
    """A device of the kernel's kind ``wireguard``; there is no process."""

    data_path = DataPath.KERNEL

    def missing(self, vpn: Vpn, host: Host) -> list[Missing]:
        missing = missing_from_kernel(host, self.name, "WireGuard in the kernel")
        if host.find(TOOL) is None:
            missing.append(Missing.to_install(TOOL, vpn.id))
        return missing

    def control(self, device: str) -> ControlTool:
        return ControlTool(device)

    def version(self, vpn: Vpn, host: Host) -> str:
        del vpn
        return f"Linux {host.kernel_release}"

    def start(self, vpn: Vpn, node: Node, device: str) -> None:
        """Raises VpnError if the kernel refuses."""
        try:
            node.add_link(device, self.name)
        except LabError as error:
            raise VpnError(vpn.id, error.why, error.remedy) from error

    def remove(self, node: Node, device: str) -> None:
        link = node.link(device)
        if link is not None and link.kind == self.name:
            node.del_link(device)


IN_KERNEL = Kernel("wireguard")

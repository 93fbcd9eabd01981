"""WireGuard's device: the kernel's own, or a tun device that a program in user space serves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from culvert.vpns.authoring import (
    DataPath,
    Host,
    LabError,
    Missing,
    Node,
    Process,
    Vpn,
    VpnError,
    missing_from_kernel,
    missing_tun,
)
from culvert.vpns.wireguard import program as wireguard_program
from culvert.vpns.wireguard.control import Control, ControlSocket
from culvert.vpns.wireguard.program import PROGRAM
from culvert.vpns.wireguard.tool import PROGRAM as TOOL
from culvert.vpns.wireguard.tool import ControlTool


class Device(ABC):
    """A device of one name on any node."""

    control: Control
    data_path: ClassVar[DataPath]

    def __init__(self, vpn: Vpn, name: str) -> None:
        self.vpn = vpn
        self.name = name

    def rename(self, name: str) -> None:
        """Before it is created."""
        self.name = name
        self.control = type(self.control)(name)

    @abstractmethod
    def missing(self, host: Host) -> list[Missing]:
        """What is missing on the host."""

    @abstractmethod
    def version(self, host: Host) -> str:
        """The version of what implements it."""

    @abstractmethod
    def create(self, node: Node) -> Process | None:
        """Create it, down; returns the program that serves it, which can be configured."""

    @abstractmethod
    def remove(self, node: Node) -> None:
        """Remove what stays after its program has ended; nothing if there is nothing."""


class KernelDevice(Device):
    """A device of the kernel's kind ``wireguard``; there is no process."""

    data_path = DataPath.KERNEL

    def __init__(self, vpn: Vpn, name: str) -> None:
        super().__init__(vpn, name)
        self.control = ControlTool(name)

    def missing(self, host: Host) -> list[Missing]:
        """The kernel's WireGuard, and its tool."""
        missing = missing_from_kernel(host, "wireguard", "WireGuard in the kernel")
        if host.find(TOOL) is None:
            missing.append(Missing.to_install(TOOL, self.vpn.id))
        return missing

    def version(self, host: Host) -> str:
        return f"Linux {host.kernel_release}"

    def create(self, node: Node) -> None:
        """Raises VpnError if the kernel refuses."""
        try:
            node.add_link(self.name, "wireguard")
        except LabError as error:
            raise VpnError(self.vpn.id, error.why, error.remedy) from error

    def remove(self, node: Node) -> None:
        link = node.link(self.name)
        if link is not None and link.kind == "wireguard":
            node.del_link(self.name)


class ProgramDevice(Device):
    """A tun device of wireguard-go; ``distributions``: of the distribution's package."""

    data_path = DataPath.USER
    control: ControlSocket

    def __init__(self, vpn: Vpn, name: str, *, distributions: bool) -> None:
        super().__init__(vpn, name)
        self.control = ControlSocket(name)
        self._find = wireguard_program.distributions if distributions else wireguard_program.current

    def missing(self, host: Host) -> list[Missing]:
        missing = missing_tun(host)
        if self._find(host) is None:
            missing.insert(0, Missing.to_install(f"{PROGRAM} for {self.vpn.id}", self.vpn.id))
        return missing

    def version(self, host: Host) -> str:
        """Versions of the module (or the package) and of the compiler."""
        return wireguard_program.version(host, self._installed(host))

    def create(self, node: Node) -> Process:
        """Start the program, which creates it."""
        return wireguard_program.start(self.vpn, node, self._installed(node), self.name)

    def remove(self, node: Node) -> None:
        """The socket, which wireguard-go leaves if it was killed."""
        node.remove(self.control.path)

    def _installed(self, host: Host) -> str:
        return wireguard_program.require(self.vpn, self._find(host))

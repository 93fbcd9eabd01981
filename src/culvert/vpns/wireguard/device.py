"""WireGuard's device: the kernel's own, or a tun device that a program in user space serves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from culvert.errors import LabError, NotPossible, VpnError
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.facts import missing_from_kernel, missing_tun
from culvert.vpns.variant import DataPath, Missing
from culvert.vpns.wireguard import program as wireguard_program
from culvert.vpns.wireguard import tool as wg_tool
from culvert.vpns.wireguard.control import Control, ControlSocket, ControlTool
from culvert.vpns.wireguard.program import PROGRAM


class Device(ABC):
    """A device of one name on any node; ``vpn`` is the id of its VPN, for errors."""

    control: Control
    data_path: ClassVar[DataPath]

    def __init__(self, vpn: str, name: str) -> None:
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
        """Create it, down; returns the program that serves it, which has been started."""

    def await_answer(self, node: Node, process: Process, *, deadline_s: float) -> None:
        """Return when its program can be configured; raises VpnError."""
        del node, process, deadline_s

    @abstractmethod
    def remove(self, node: Node) -> None:
        """Remove what stays after its program has ended; nothing if there is nothing."""


class KernelDevice(Device):
    """A device of the kernel's kind ``wireguard``; there is no process."""

    data_path = DataPath.KERNEL

    def __init__(self, vpn: str, name: str) -> None:
        super().__init__(vpn, name)
        self.control = ControlTool(name)

    def missing(self, host: Host) -> list[Missing]:
        """The kernel's WireGuard, and its tool."""
        missing = missing_from_kernel(host, "wireguard", "WireGuard in the kernel")
        if host.find(wg_tool.PROGRAM) is None:
            missing.append(Missing.to_install(wg_tool.PROGRAM, self.vpn))
        return missing

    def version(self, host: Host) -> str:
        return f"Linux {host.kernel_release}"

    def create(self, node: Node) -> None:
        """Raises VpnError if the kernel refuses."""
        try:
            node.add_link(self.name, "wireguard")
        except LabError as error:
            raise VpnError(self.vpn, error.why, error.remedy) from error

    def remove(self, node: Node) -> None:
        link = node.link(self.name)
        if link is not None and link.kind == "wireguard":
            node.del_link(self.name)


class ProgramDevice(Device):
    """A tun device of wireguard-go; ``distributions``: of the distribution's package."""

    data_path = DataPath.USER
    control: ControlSocket

    def __init__(self, vpn: str, name: str, *, distributions: bool) -> None:
        super().__init__(vpn, name)
        self.control = ControlSocket(name)
        self._find = wireguard_program.distributions if distributions else wireguard_program.current

    def missing(self, host: Host) -> list[Missing]:
        missing = missing_tun(host)
        if self._find(host) is None:
            missing.insert(0, Missing.to_install(f"{PROGRAM} for {self.vpn}", self.vpn))
        return missing

    def version(self, host: Host) -> str:
        """Versions of the module (or the package) and of the compiler."""
        return wireguard_program.version(host, self._installed(host))

    def create(self, node: Node) -> Process:
        """Start the program, which creates it."""
        return wireguard_program.spawn(node, self._installed(node), self.name)

    def await_answer(self, node: Node, process: Process, *, deadline_s: float) -> None:
        """Return when the program answers on its socket."""
        wireguard_program.await_answer(
            node, process, self.control, vpn=self.vpn, deadline_s=deadline_s
        )

    def remove(self, node: Node) -> None:
        """The socket, which wireguard-go leaves if it was killed."""
        node.remove(self.control.path)

    def _installed(self, host: Host) -> str:
        program = self._find(host)
        if program is None:
            raise NotPossible(self.vpn, f"{PROGRAM} is missing", f"culvert install {self.vpn}")
        return program

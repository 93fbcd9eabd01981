"""The most common form of a VPN: one foreground program, one tun device, one UDP port."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.facts import missing_tun, wait_for_device, wait_for_ping
from culvert.vpns.tundevice import TunDevice
from culvert.vpns.tunnel import TunnelVpn
from culvert.vpns.variant import Missing


class TunProgram(TunDevice, TunnelVpn):
    """A driver defines the class attributes below, ``configure()`` and ``arguments()``, and
    ``is_handshake()`` if it has a handshake.

    The responder listens when its device is up; an initiator is connected when a ping through the
    tunnel is answered. ``overhead`` is constant: outer less inner IP packet, in bytes.
    """

    program: ClassVar[str]
    """Its name on PATH or among Culvert's tools."""
    overhead: ClassVar[int]
    version_arguments: ClassVar[Sequence[str]] = ("--version",)
    """Arguments with which the program prints its version in the first line."""

    def choose(self, lab: Lab) -> None:
        """Both the device and the port: configurations have ``self.device`` and ``self.port``."""
        self.device, self.port = lab.free_device(self.device), lab.free_port(self.port)

    @abstractmethod
    def arguments(self, node: Node) -> Sequence[str]:
        """The program's arguments on a node, for the foreground; paths are absolute
        (``node.directory``)."""

    def missing(self, host: Host) -> list[Missing]:
        """The program and /dev/net/tun."""
        missing = missing_tun(host)
        if host.find(self.program) is None:
            missing.append(
                Missing.to_install(self.program, self.id)
                if self.role
                else Missing(self.program, f"put {self.program} on PATH")
            )
        return missing

    def version(self, host: Host) -> str:
        """The first line that the program prints for ``version_arguments``."""
        done = host.run([self._program(host), *self.version_arguments], check=False)
        lines = (done.stdout or done.stderr).strip().splitlines()
        return lines[0] if lines else "unknown"

    def listen(self, target: Node) -> None:
        """Start it; returns when its device is up."""
        self.start(target)

    def connect(self, source: Node) -> None:
        """Start it; returns when a ping to the responder's inner address is answered."""
        process = self.start(source)
        address = self.inner(self.target).ip
        wait_for_ping(self.id, source, address, process, deadline_s=self.up_deadline_s)

    def start(self, node: Node) -> Process:
        """Start the program on a node and wait for its device."""
        argv = [self._program(node), *self.arguments(node)]
        process = self.start_process(node, argv, self.program)
        wait_for_device(self.id, node, self.device, process, deadline_s=self.up_deadline_s)
        return process

    def outer_length(self, inner_length: int) -> int | None:
        """With the constant overhead."""
        return inner_length + self.overhead

    def _program(self, host: Host) -> str:
        path = host.find(self.program)
        if path is None:
            raise NotPossible(self.id, f"{self.program} is missing", f"culvert install {self.id}")
        return path

"""Tunnels of two nodes that the kernel makes by a device alone: without a program, without a
handshake."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from culvert.vpns.authoring import (
    DataPath,
    Host,
    Missing,
    Node,
    Process,
    TunDevice,
    TunnelVpn,
    missing_from_kernel,
)


class KernelDevice(TunDevice, TunnelVpn):
    """A driver defines the class attributes and ``make_end()``; a node that leaves has no device.

    An end accepts packets once it exists, so the tunnel is up when both do.
    """

    feature: ClassVar[str]
    """Doctor's name for the kernel's part."""
    one_source = True
    memory_bytes = 0

    @abstractmethod
    def make_end(self, node: Node) -> None:
        """Create a node's device and set it up."""

    def missing(self, host: Host) -> list[Missing]:
        return missing_from_kernel(host, self.feature, f"{self.feature} in the kernel")

    def version(self, host: Host) -> str:
        return f"Linux {host.kernel_release}"

    def configure(self) -> None:
        """There are no secrets and no files."""

    def listen(self, target: Node) -> None:
        self.make_end(target)

    def connect(self, source: Node) -> None:
        self.make_end(source)

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        del ended
        node.del_link(self.device)

    @property
    def data_path(self) -> DataPath:
        return DataPath.KERNEL

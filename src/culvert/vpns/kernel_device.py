"""Tunnels of two nodes that the kernel makes by a device alone: without a program, without a
handshake."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from culvert.vpns.authoring import (
    DataPath,
    Host,
    LabError,
    Missing,
    Node,
    Process,
    TunDevice,
    TunnelVpn,
    VpnError,
    missing_from_kernel,
)


class KernelDevice(TunDevice, TunnelVpn):
    """A driver defines the class attributes and ``attributes()``; a node that leaves has no device.
    ``kernel_kind`` is the device's kind, and doctor's name for the kernel's part.

    An end accepts packets once it exists, so the tunnel is up when both do.
    """

    one_source = True
    memory_bytes = 0

    @abstractmethod
    def attributes(self, node: Node) -> Mapping[str, object]:
        """Those of a node's device, with pyroute2's names."""

    def make_end(self, node: Node) -> None:
        """Create a node's device and set it up."""
        try:
            node.add_link(self.device, self.kernel_kind, **self.attributes(node))
        except LabError as error:
            raise VpnError(self.id, error.why, error.remedy) from error
        self.set_up_device(node)

    def missing(self, host: Host) -> list[Missing]:
        return missing_from_kernel(host, self.kernel_kind, f"{self.kernel_kind} in the kernel")

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

"""VPNs with a device of their own on each member, and one port on the underlay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from ipaddress import IPv4Network
from socket import IPPROTO_UDP
from typing import ClassVar, Self

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.topology.ip import LEAST_MTU_IPV6, LONGER_IPV6, Interface, IpVersion
from culvert.vpns.base import Vpn, endpoint, underlay_address
from culvert.vpns.facts import missing_tun, path_of_device
from culvert.vpns.outer import OuterFlow, OuterMessage, OuterPacket, largest_inner
from culvert.vpns.variant import DataPath, Missing
from culvert.vpns.versions import go_version


@dataclass(frozen=True)
class Ports:
    """Of a VPN with several. A driver derives its own: a field for each port, with the usual number
    as its default."""

    def free(self, lab: Lab) -> Self:
        """These, or others that are free in the lab."""
        return replace(self, **{name: lab.free_port(port) for name, port in asdict(self).items()})


class TunDevice(Vpn):
    """Has what follows from the device, the port, the programs and a constant overhead. ``port`` is
    at one end, at least, of each packet.

    ``device`` and ``port`` are those that are free in the lab: a configuration has ``self.device``
    and ``self.port``. A driver whose program cannot use others overrides ``choose()``.
    """

    device: str
    port: int = 0
    """0: its packets have none."""
    programs: Sequence[str] = ()
    """Names of all programs that members and servers run, on PATH or among Culvert's tools. The
    first is the VPN's own: it prints the version. A ``TunProgram`` has its ``program`` and its
    ``server_program`` there without being told: its driver writes further ones only."""
    by_hand: ClassVar[frozenset[str]] = frozenset()
    """Those of them that ``culvert install`` does not provide."""
    version_arguments: ClassVar[Sequence[str]] = ("--version",)
    """Arguments with which the first program prints its version in the first line; none for a
    program of Go whose build has it."""
    transport: int = IPPROTO_UDP
    """IP's number of the protocol with that port: UDP or TCP."""
    also_transports: Sequence[int] = ()
    """Other protocols with that port, as TCP: all but data, so they belong to the handshake."""
    overhead: ClassVar[int | None] = 0
    """Outer less inner IP packet, in bytes, if it is constant; None if a stream carries them."""
    fixed_range: ClassVar[IPv4Network | None] = None
    """Of the members' addresses, if it is not the lab's network for tunnels."""
    kernel_kind: ClassVar[str] = ""
    """First letters of the kind of the kernel's device, for a VPN that can use one."""

    # -- requirements ------------------------------------------------------------------------------

    def missing(self, host: Host) -> list[Missing]:
        """The programs, and /dev/net/tun unless the kernel encrypts."""
        absent = [self._lacks(each) for each in self.programs if host.find(each) is None]
        return absent if self.data_path is DataPath.KERNEL else missing_tun(host) + absent

    def version(self, host: Host) -> str:
        """The first line that the first program prints for ``version_arguments``."""
        path = self._require(host, self.programs[0])
        if not self.version_arguments:
            return go_version(host, path)
        done = host.run([path, *self.version_arguments], check=False)
        lines = (done.stdout or done.stderr).strip().splitlines()
        return lines[0] if lines else "unknown"

    def _require(self, host: Host, program: str) -> str:
        """The path of one of the programs there; raises NotPossible."""
        path = host.find(program)
        if path is None:
            raise NotPossible(self.id, f"{program} is missing", self._lacks(program).remedy)
        return path

    def _lacks(self, program: str) -> Missing:
        if program in self.by_hand:
            return Missing(program, f"put {program} on PATH: see docs/vendor-meshes.md")
        if self.role is None:
            return Missing(program, f"put {program} on PATH")
        return Missing.to_install(program, self.id)

    # -- its life ----------------------------------------------------------------------------------

    def prepare(self, lab: Lab) -> None:
        """Also refuse a range that a member's interfaces have already."""
        super().prepare(lab)
        for member in lab.members:
            refuse_taken(self.id, member, self.fixed_range or lab.tunnels)
        if self.inner_version is IpVersion.V6 and self.inner_mtu < LEAST_MTU_IPV6:
            raise NotPossible(
                f"{self.id} with IPv6 inside",
                f"the link's MTU of {lab.spec.mtu} leaves {self.inner_mtu} bytes for its packets",
                f"IPv6 needs {LEAST_MTU_IPV6} (RFC 8200): use a link with a larger MTU",
            )

    def choose(self, lab: Lab) -> None:
        """Choose a device and a port that are free in the lab."""
        self.device = lab.free_device(self.device)
        if self.port:
            self.port = lab.free_port(self.port)

    def launch(
        self, node: Node, name: str, *arguments: str, env: Mapping[str, str] | None = None
    ) -> Process:
        """Start one of the programs on a node; it is ended with the VPN."""
        return self.start_process(node, [self._require(node, name), *arguments], name, env)

    def set_up_device(self, node: Node) -> None:
        """Give an existing device the node's inner addresses, unless it has them, and the MTU, and
        set it up: for a program, or a kernel, that does not."""
        device = self.device_on(node)
        link = node.link(device)
        for address in self.inside(node):
            if link is None or address not in link.addresses:
                node.add_address(device, address)
        node.set_link(device, up=True, mtu=self.inner_mtu)

    def inside(self, node: Node) -> Sequence[Interface]:
        """All the node's addresses inside the VPN."""
        ipv6 = self.inner_ipv6(node)
        return [self.inner(node), *([] if ipv6 is None else [ipv6])]

    def endpoint(self, node: Node) -> str:
        """A node's address on the underlay and the port, as most programs read them."""
        return endpoint(underlay_address(node), self.port)

    @property
    def inner_mtu(self) -> int:
        """The largest MTU of the device with which no outer packet is fragmented. A stream cuts its
        packets itself: it carries IPv6 on any link."""
        mtu = self.lab.spec.mtu
        if self.outer_length(mtu) is None:
            return max(mtu, LEAST_MTU_IPV6)
        return self.largest_packet(self.outer_length)

    def largest_packet(self, outer_length: Callable[[int], int | None]) -> int:
        """The longest inner packet whose outer one, as long as ``outer_length`` on IPv4, fits the
        link."""
        spec = self.lab.spec
        longer = LONGER_IPV6 if spec.underlay is IpVersion.V6 else 0
        return largest_inner(outer_length, spec.mtu - longer)

    # -- what the proof needs ----------------------------------------------------------------------

    def device_on(self, node: Node) -> str:
        """The device's name on a node; a driver overrides it whose ends have different ones."""
        del node
        return self.device

    def interface(self, node: Node) -> str:
        """The device."""
        return self.device_on(node)

    @property
    def data_path(self) -> DataPath:
        """User space: a program encrypts."""
        return DataPath.USER

    def determine_data_path(self, node: Node) -> DataPath:
        """From the kind of the device."""
        device = self.device_on(node)
        return path_of_device(self.id, node, device, kernel_kind=self.kernel_kind)

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        """All kinds of its messages on that port; see ``OuterFlow``."""
        return ()

    @property
    def outer_flow(self) -> OuterFlow | None:
        """The port at one end."""
        ports = frozenset({self.port})
        also = tuple(OuterFlow(each, ports) for each in self.also_transports)
        return OuterFlow(self.transport, ports, also, messages=self.messages)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """All of the other protocols; a driver adds what belongs to it of the first one."""
        return packet.protocol in self.also_transports

    def outer_length(self, inner_length: int) -> int | None:
        """With the constant overhead."""
        return None if self.overhead is None else inner_length + self.overhead


def refuse_taken(vpn: str, node: Node, network: IPv4Network) -> None:
    """Raise NotPossible if an interface of a node has an address in a range that a VPN is about to
    use there."""
    for device, address in node.addresses():
        if address.ip in network or address.network.overlaps(network):
            raise NotPossible(
                f"{vpn} on node {node.name}",
                f"its addresses are of {network}, and {device} has {address}",
                f"stop what uses {device}, or give it other addresses",
            )

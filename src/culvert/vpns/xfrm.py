"""IPsec by the kernel alone, with manual keys and without a key exchange.

osswald2020 compares it with tunnels set up by a key exchange. RFC 4106 and RFC 7634 forbid their
ciphers with static keys: use it in a laboratory only.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import ClassVar

from culvert.vpns.authoring import (
    DataPath,
    Host,
    Lab,
    Missing,
    Node,
    OuterFlow,
    Process,
    TunnelVpn,
    Variant,
    VpnError,
)
from culvert.vpns.ipsec import esp
from culvert.vpns.ipsec import inner as ipsec_inner
from culvert.vpns.ipsec import transforms as ipsec
from culvert.vpns.ipsec.commands import FACTS, NO_INITIATION, Commands
from culvert.vpns.ipsec.transforms import TRANSFORMS, Carriage

_ROUTE = "route"
_TRANSPORT = "transport"
_ENCAP = "encap"
_HOLD = """
import signal, socket, sys
UDP_ENCAP, UDP_ENCAP_ESPINUDP = 100, 2  # linux/udp.h
held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
held.setsockopt(socket.IPPROTO_UDP, UDP_ENCAP, UDP_ENCAP_ESPINUDP)
held.bind(("0.0.0.0", int(sys.argv[1])))
print("bound", flush=True)
signal.pause()
"""


class Xfrm(TunnelVpn):
    """Two associations on each node, one for each direction; with +encap a UDP socket as well."""

    name = "xfrm"
    summary = "IPsec by the kernel, with manual keys"
    variants = tuple(ipsec.variant(name, FACTS) for name in TRANSFORMS)
    one_source = True
    cpu_attributable = False
    no_initiation = NO_INITIATION
    options: ClassVar[Mapping[str, str]] = {
        _ROUTE: "an xfrm interface and a route instead of policies that select packets",
        _TRANSPORT: "transport mode instead of tunnel mode",
        _ENCAP: "ESP in UDP, as through a NAT",
    }

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.carriage = Carriage(
            TRANSFORMS[variant.name],
            transport=_TRANSPORT in options,
            route=_ROUTE in options,
            in_udp=_ENCAP in options,
        )
        self._commands = Commands(self, self.carriage)
        self._sockets: dict[str, Process] = {}

    # -- requirements ------------------------------------------------------------------------------

    def missing(self, host: Host) -> list[Missing]:
        """The kernel's IPsec with this transform, and ip."""
        missing = [*self.carriage.contradictions(), *self.carriage.missing_from_kernel(host)]
        if host.find("ip") is None:
            missing.append(Missing("ip", "sudo apt-get install iproute2"))
        return missing

    def version(self, host: Host) -> str:
        """The kernel's version, and its cipher drivers."""
        return self.carriage.kernel_version(host)

    # -- the life of a tunnel ----------------------------------------------------------------------

    def configure(self) -> None:
        """Random keys, and for each node the commands that set and remove them, in files."""
        if self.carriage.transport:
            ipsec_inner.require_pair(self.id, self.lab)
        self._commands.write()

    def listen(self, target: Node) -> None:
        self._set(target)

    def connect(self, source: Node) -> None:
        """Set its keys: the tunnel is up, for there is no exchange."""
        self._set(source)

    def leave(self, node: Node) -> None:
        self._unset(node)

    def stop(self, lab: Lab) -> None:
        """Remove keys, sockets and addresses of all nodes."""
        del lab
        if self._lab is None:
            return
        for node in self.ends:
            self._unset(node)
            ipsec_inner.release(self.carriage, node, self.inner(node))

    def _set(self, node: Node) -> None:
        ipsec_inner.hold(self.id, self.carriage, node, self.inner(node))
        if self.carriage.in_udp and node.name not in self._sockets:
            self._open_socket(node)
        self._commands.set(node)

    def _open_socket(self, node: Node) -> None:
        """The socket on which the kernel receives ESP lives as long as this program."""
        # -I -S: nothing but Python itself, which starts at once.
        argv = [sys.executable, "-I", "-S", "-c", _HOLD, str(esp.NAT_PORT)]
        process = node.daemon(argv, name="espinudp", capabilities=frozenset())
        self._sockets[node.name] = process
        what = f"node {node.name} opened UDP port {esp.NAT_PORT} for ESP"
        self.await_fact(lambda: "bound" in process.log_text(), process, what)

    def _unset(self, node: Node) -> None:
        self._commands.unset(node)
        socket = self._sockets.pop(node.name, None)
        if socket is not None:
            socket.stop()

    # -- what the proof needs ----------------------------------------------------------------------

    def interface(self, node: Node) -> str:
        """The xfrm interface, or the underlay's device."""
        return ipsec_inner.interface(self.carriage, node)

    @property
    def data_path(self) -> DataPath:
        return DataPath.KERNEL

    def determine_data_path(self, node: Node) -> DataPath:
        if ipsec_inner.holds_associations(node):
            return DataPath.KERNEL
        raise VpnError(
            f"{self.id} on node {node.name}",
            "the kernel holds no security association",
            "bring the tunnel up again",
        )

    @property
    def outer_flow(self) -> OuterFlow | None:
        return self.carriage.outer_flow()

    def outer_length(self, inner_length: int) -> int | None:
        return self.carriage.outer_length(inner_length)

"""WireGuard: in the kernel, and in user space in Go (current, and the distribution's version).

In user space it has a tun device, in the kernel a device of its own kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.vpns.authoring import (
    DataPath,
    Host,
    Lab,
    Missing,
    Node,
    OuterFlow,
    OuterMessage,
    OuterPacket,
    Path,
    Process,
    Variant,
)
from culvert.vpns.parts import kill_switch
from culvert.vpns.wireguard import default_route
from culvert.vpns.wireguard import variants as known
from culvert.vpns.wireguard.control import Control
from culvert.vpns.wireguard.device import CAPABILITIES, CURRENT
from culvert.vpns.wireguard.keys import Keys
from culvert.vpns.wireguard.peers import Peers
from culvert.vpns.wireguard.rosenpass import Rosenpass
from culvert.vpns.wireguard.uapi import Pair
from culvert.vpns.wireguard.variants import MARK, NO_OFFLOADS, PROGRAMS, PSK, ROSENPASS


class WireGuard(Peers):
    """The target listens on a fixed port; each source connects from a random one.

    As a hub (wg-easy and others), the target's kernel forwards packets between the sources, each of
    which sends the whole network's packets to the target.
    """

    name = "wireguard"
    summary = "WireGuard, by the kernel or in user space (Go, Rust, AmneziaWG)"
    variants, options = known.VARIANTS, known.OPTIONS
    device, port, kernel_kind = known.DEVICE, known.PORT, "wireguard"
    forwards = True
    ipv6_inside = routes_behind = True
    role = "wireguard"
    handshake_trips = 1
    capabilities = CAPABILITIES
    kill_switch = default_route.KILL_SWITCH
    rekey_deadline_s = 130.0
    """A sender renews the keys after 120 s (REKEY_AFTER_TIME in the protocol)."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(known.chosen(variant, options), options)
        self._wireguard = PROGRAMS.get(variant.name, CURRENT)
        if self.data_path is DataPath.KERNEL:
            self.memory_bytes = 0
            self.kernel_threads = ("kworker/.*",)  # a worker has the name of its last work
        else:
            self.watchers = 1  # of its control socket
        self._rosenpass = Rosenpass(self) if ROSENPASS in options else None

    # -- requirements ------------------------------------------------------------------------------

    def missing(self, host: Host) -> list[Missing]:
        """What the device needs, and what its options need."""
        missing = self._wireguard.missing(self, host)
        missing += known.missing_for(self.chosen, self._wireguard, host, self.id)
        return missing + (self._rosenpass.missing(host) if self._rosenpass else [])

    def version(self, host: Host) -> str:
        """Of the program, or of the kernel."""
        return self._wireguard.version(self, host)

    @property
    def control(self) -> Control:
        return self._wireguard.control(self.device)

    # -- the life of a tunnel ----------------------------------------------------------------------

    def configure(self) -> None:
        """A key pair for each node; a copy of the private key in the node's directory for use by
        hand."""
        names = dict.fromkeys(name for path in self.paths for name in (path.source, path.target))
        self._keys = Keys.new(names, shared=PSK in self.chosen)
        for name in names:
            node = self.lab.nodes[name]
            node.write("wireguard/private.key", self._keys.text(name), secret=True)
        if self._rosenpass:
            self._rosenpass.configure(*self.ends)
        kill_switch.load(self, self.sources, self.device, default_route.OWN)

    def join(self, member: Node) -> None:
        if any(path.target == member.name for path in self.paths):
            self.listen(member)

    def listen(self, target: Node) -> None:
        """Start it; ready when its socket is bound to the port."""
        process = self._wireguard.start(self, target, self.device)
        known_keys = self._rosenpass is None or self._keys.shared
        known_peers = self.peers(target) if known_keys else ()
        peers = [pair for peer in known_peers for pair in self._as_peer(peer)]
        self.set_up_device(target)  # first: GotaTun ends when it reads from a device that is down
        port = [("listen_port", str(self.port))] if self._wireguard.keeps_port else []
        self.control.configure(target, [*self._own(target), *port, *peers])
        self.forward(self.device)
        self._listen_at_port(target, process)
        if self._rosenpass:
            self._rosenpass.start(target, target)

    def connect(self, source: Node) -> None:
        self._connect(source, self.target)

    def reach(self, path: Path) -> None:
        """Connect a path's source to its responder."""
        if self.meshed:
            self._connect(self.source_of(path), self.responder(path))
        else:
            super().reach(path)

    def _connect(self, source: Node, target: Node) -> None:
        """Start it, unless it runs: it listens, or another path of its own is up. Up when it has
        received the handshake's response."""
        if source.link(self.device) is not None:
            self._connect_to(source, target)
        else:
            self._wireguard.start(self, source, self.device)
            own = self._own(source)
            own += [("fwmark", str(MARK))] if self._leads else []
            self.set_up_device(source)
            if self._rosenpass:
                shared = self._rosenpass.exchange(source, target)
                self._keys = replace(self._keys, shared=shared)
                self._forget(source, target)
            self.control.configure(source, [*own, *self._with_endpoint(target)])
            if self._leads:
                default_route.lead(source, self.device)
            for network in self.lab.behind:
                source.add_route(network, device=self.device)
        self._await_handshake(source, target)

    def _own(self, node: Node) -> list[Pair]:
        """The pairs that configure the node itself."""
        return [self._keys.private(node.name), *self._wireguard.settings]

    def stop(self, lab: Lab) -> None:
        super().stop(lab)
        if self._lab is not None and self._leads:
            for source in self.sources:
                default_route.clear(source)

    def set_up_device(self, node: Node) -> None:
        if NO_OFFLOADS in self.chosen:
            off = [word for feature in known.SEGMENTATION for word in (feature, "off")]
            node.run(["ethtool", "-K", self.device, *off])
        super().set_up_device(node)

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        del ended
        self._wireguard.remove(node, self.device)

    # -- what the proof needs ----------------------------------------------------------------------

    @property
    def data_path(self) -> DataPath:
        return self._wireguard.data_path

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        return self._wireguard.format.messages(self.inner_mtu)

    @property
    def outer_flow(self) -> OuterFlow | None:
        flow = super().outer_flow
        return replace(flow, also=(self._rosenpass.flow,)) if flow and self._rosenpass else flow

    @property
    def inner_mtu(self) -> int:
        """As wg-quick's, which reserves room for the outer headers of IPv6."""
        return self.lab.spec.mtu - known.UNDERLAY_ROOM

    def outer_length(self, inner_length: int) -> int | None:
        return self._wireguard.format.outer_length(inner_length, self.inner_mtu)

    def is_handshake(self, packet: OuterPacket) -> bool:
        if self._rosenpass and self._rosenpass.flow.has(packet):
            return True
        return self._wireguard.format.is_handshake(packet)

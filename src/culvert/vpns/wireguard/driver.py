"""WireGuard: in the kernel, and in user space in Go (current, and the distribution's version).

In user space it has a tun device, in the kernel a device of its own kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network

from culvert.topology.ip import Interface
from culvert.vpns.authoring import (
    DIRECT,
    DataPath,
    Host,
    Lab,
    Missing,
    Node,
    OuterFlow,
    OuterPacket,
    Path,
    Process,
    Route,
    Variant,
    VpnError,
    endpoint,
    path_of_device,
    underlay_address,
)
from culvert.vpns.parts.forwarding import Forwarding
from culvert.vpns.wireguard import packet as wire
from culvert.vpns.wireguard import program as wireguard_program
from culvert.vpns.wireguard import uapi
from culvert.vpns.wireguard.control import Control
from culvert.vpns.wireguard.device import Device, KernelDevice, ProgramDevice
from culvert.vpns.wireguard.handshakes import Handshakes
from culvert.vpns.wireguard.keys import Keys
from culvert.vpns.wireguard.tunnels import Tunnels
from culvert.vpns.wireguard.variants import (
    DEVICE,
    DISTRIBUTIONS,
    KERNEL,
    NO_OFFLOADS,
    OPTIONS,
    PORT,
    PSK,
    VARIANTS,
    chosen,
)

_UNDERLAY_ROOM = 80
"""Bytes that wg-quick reserves for the outer headers (those of IPv6, so that any underlay fits)."""
_KEEPALIVE = "persistent_keepalive_interval"
_KEEPALIVE_MAX_S = 65535
_SEGMENTATION = ("tso", "gso", "tx-udp-segmentation")
"""If off, the kernel passes single packets to the program, which sends them one by one."""


class WireGuard(Tunnels):
    """The target listens on a fixed port; each source connects from a random one.

    As a hub (wg-easy and others), the target's kernel forwards packets between the sources, each of
    which sends the whole network's packets to the target.
    """

    name = "wireguard"
    summary = "WireGuard, by the kernel or in user space (wireguard-go)"
    variants = VARIANTS
    options = OPTIONS
    port = PORT
    forwards = True
    role = "wireguard"
    capabilities = wireguard_program.CAPABILITIES
    rekey_deadline_s = 130.0
    """A sender renews the keys after 120 s (REKEY_AFTER_TIME in the protocol)."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(chosen(variant, options), options)
        self._device: Device
        if variant.name == KERNEL:
            self._device = KernelDevice(self, DEVICE)
            self.kernel_threads = ("kworker/.*",)  # a worker has the name of its last work
        else:
            distributions = variant.name == DISTRIBUTIONS
            self._device = ProgramDevice(self, DEVICE, distributions=distributions)
        self._keys = Keys({})
        self._forwarding = Forwarding()

    # -- requirements ------------------------------------------------------------------------------

    def missing(self, host: Host) -> list[Missing]:
        """What the device needs, and what its options need."""
        missing = self._device.missing(host)
        if NO_OFFLOADS not in self.chosen:
            return missing
        if self.variant.name == DISTRIBUTIONS:
            what = "segmentation offload (this version has none)"
            missing.append(Missing(what, f"leave +{NO_OFFLOADS} out"))
        if host.find("ethtool") is None:
            missing.append(Missing.to_install("ethtool", self.id))
        return missing

    def version(self, host: Host) -> str:
        """Versions of the module (or the package) and the compiler; or of the kernel."""
        return self._device.version(host)

    @property
    def control(self) -> Control:
        """Of the device, on any node."""
        return self._device.control

    def choose(self, lab: Lab) -> None:
        """Both the device and the target's port."""
        self._device.rename(lab.free_device(DEVICE))
        self.port = lab.free_port(PORT)

    # -- the life of a tunnel ----------------------------------------------------------------------

    def configure(self) -> None:
        """A key pair for each node; a copy of the private key in the node's directory for use by
        hand."""
        names = dict.fromkeys(name for path in self.paths for name in (path.source, path.target))
        self._keys = Keys.new(names, shared=PSK in self.chosen)
        for name in names:
            node = self.lab.nodes[name]
            node.write("wireguard/private.key", self._keys.text(name), secret=True)

    def join(self, member: Node) -> None:
        """A target of a path listens; other members start when they connect."""
        if any(path.target == member.name for path in self.paths):
            self.listen(member)

    def listen(self, target: Node) -> None:
        """Start it; ready when its socket is bound to the port."""
        process = self._device.create(target)
        peers = [pair for peer in self.peers(target) for pair in self._as_peer(peer)]
        self.control.configure(target, [self._keys.private(target.name), *peers])
        self._bring_up(target)
        if self.is_hub:
            self._forwarding.enable(target, self._device.name)
        # wireguard-go has no port until it sees that the interface is up; then a random one. The
        # request for the fixed port returns an error if that port is in use.
        what = f"node {target.name} bound a UDP socket for {self._device.name}"
        self.await_fact(lambda: self.control.state(target).listen_port, process, what)
        try:
            self.control.configure(target, [("listen_port", str(self.port))])
        except VpnError as error:
            raise VpnError(
                f"{self.id} on node {target.name}, UDP port {self.port}", error.why, error.remedy
            ) from error

    def connect(self, source: Node) -> None:
        """Start it, and connect it to the responder."""
        self._connect(source, self.target)

    def reach(self, path: Path) -> None:
        """Connect a path's source to its responder."""
        if self.meshed:
            self._connect(self.source_of(path), self.responder(path))
        else:
            super().reach(path)

    def _connect(self, source: Node, target: Node) -> None:
        """Start it, unless it runs; up when it has received the handshake's response.

        Enabling the persistent keepalive triggers the handshake, as in most users' configuration:
        it starts as soon as the interface is up, and needs no packet from outside. Afterwards the
        keepalive is disabled, so that it never disturbs a measurement.
        """
        # It runs if it listens, or if another path of its own is up.
        if source.link(self._device.name) is not None:
            self.control.configure(source, self._with_endpoint(target))
        else:
            self._device.create(source)
            pairs = [self._keys.private(source.name), *self._with_endpoint(target)]
            self.control.configure(source, pairs)
            self._bring_up(source)
        self._await_handshake(source, target)

    def _await_handshake(self, source: Node, target: Node) -> None:
        what = f"node {source.name} completed a handshake with node {target.name}"
        self._handshakes.wait(source, target, self._process(source), what)
        self.control.configure(
            source,
            [self._keys.public(target.name), ("update_only", "true"), (_KEEPALIVE, "0")],
        )

    def stop(self, lab: Lab) -> None:
        """A hub stops forwarding, too."""
        super().stop(lab)
        self._forwarding.restore()

    def _bring_up(self, node: Node) -> None:
        for address in self._inside(node):
            node.add_address(self._device.name, address)
        if NO_OFFLOADS in self.chosen:
            off = [word for feature in _SEGMENTATION for word in (feature, "off")]
            node.run(["ethtool", "-K", self._device.name, *off])
        node.set_link(self._device.name, up=True, mtu=self._mtu)

    def _stop_processes(self, node: Node, *, grace_s: float = 2.0) -> None:
        super()._stop_processes(node, grace_s=grace_s)
        self._device.remove(node)

    def _process(self, node: Node) -> Process | None:
        return next(iter(self.processes[node.name]), None)

    @property
    def _mtu(self) -> int:
        return self.lab.spec.mtu - _UNDERLAY_ROOM

    # -- peers -------------------------------------------------------------------------------------

    def _with_endpoint(self, target: Node) -> list[uapi.Pair]:
        return [
            *self._as_peer(target),
            ("endpoint", endpoint(underlay_address(target), self.port)),
            (_KEEPALIVE, str(_KEEPALIVE_MAX_S)),
        ]

    def _as_peer(self, node: Node) -> list[uapi.Pair]:
        whole = self.is_hub and node.name == self.target.name
        networks = [each.network if whole else ip_network(each.ip) for each in self._inside(node)]
        return self._keys.peer(node.name, networks)

    def _inside(self, node: Node) -> Sequence[Interface]:
        """All its addresses inside the tunnel."""
        ipv6 = self.inner_ipv6(node)
        return [self.inner(node), *([] if ipv6 is None else [ipv6])]

    def _forget(self, source: Node, target: Node) -> None:
        self.control.configure(target, [self._keys.public(source.name), ("remove", "true")])
        self.control.configure(target, self._as_peer(source))

    @property
    def _handshakes(self) -> Handshakes:
        return Handshakes(self, self.control, self._keys)

    # -- events ------------------------------------------------------------------------------------

    def drop(self, path: Path) -> None:
        """Remove the peer, and with it all keys, at both ends."""
        source, target = self.source_of(path), self.responder(path)
        self.control.configure(source, [self._keys.public(target.name), ("remove", "true")])
        self._forget(source, target)

    def resume(self, path: Path) -> None:
        """Add the peer to the running source again: it starts a handshake at once."""
        source, target = self.source_of(path), self.responder(path)
        self.control.configure(source, self._with_endpoint(target))
        self._await_handshake(source, target)

    def leave(self, node: Node) -> None:
        """Stop it; the target forgets a source that leaves.

        Otherwise it would refuse a handshake within 20 ms of the last one (a guard against floods
        and replays), and the next connect() would take five seconds.
        """
        super().leave(node)
        for target in self.targets_of(node):
            if target.link(self._device.name) is not None:
                self._forget(node, target)

    def crash(self, node: Node) -> None:
        """The other end keeps its keys, and the target its guard against handshakes in quick
        succession: returns when the guard accepts the next one. In the kernel there is no process,
        so the interface is removed."""
        if self.data_path is DataPath.KERNEL:
            self._stop_processes(node)
        else:
            super().crash(node)
        for target in self.targets_of(node):
            self._handshakes.wait_until_allowed(node, target)

    def rekey(self, path: Path) -> None:
        """Wait until WireGuard renews its keys: 120 s after the last handshake, when the source
        sends.

        There is no request for it. Changes that make wireguard-go start a handshake at once, such
        as a new private key, discard the old keys first, and so block traffic that a rekey does
        not.
        """
        source, target = self.source_of(path), self.responder(path)
        self._handshakes.wait(
            source,
            target,
            self._process(source),
            f"node {source.name} renewed its keys",
            deadline_s=self.rekey_deadline_s,
            after_ns=self._handshakes.last_ns(source, target),
        )

    # -- what the proof needs ----------------------------------------------------------------------

    def interface(self, node: Node) -> str:
        """The tun device, or the kernel's own."""
        del node
        return self._device.name

    def determine_route(self, path: Path) -> Route:
        """From the source's peers: the one with the smallest network that has the target's
        address."""
        address = self.inner(self.lab.nodes[path.target]).ip
        carrier = self.control.carrier(self.lab.nodes[path.source], address)
        node = None if carrier is None else self._keys.name(carrier.public_key)
        if node is None:
            raise VpnError(
                f"{self.id} on node {path.source}", f"no peer has {address}", "connect it again"
            )
        return DIRECT if node == path.target else Route(node, decrypts=True)

    @property
    def data_path(self) -> DataPath:
        return self._device.data_path

    def determine_data_path(self, node: Node) -> DataPath:
        """From the kind of the interface."""
        return path_of_device(self.id, node, self._device.name, kernel_kind="wireguard")

    @property
    def outer_flow(self) -> OuterFlow | None:
        """UDP with the target's port at one end."""
        return OuterFlow(17, frozenset({self.port}), messages=wire.messages(self._mtu))

    def outer_length(self, inner_length: int) -> int | None:
        """Padded to 16 bytes, but never beyond the interface's MTU."""
        return wire.outer_length(inner_length, self._mtu)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Initiation, response and cookie reply."""
        return wire.is_handshake(packet)

"""Who is whose peer: the tunnels of a VPN of WireGuard, and its handshakes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Final

from culvert.topology.shapes import Shape
from culvert.vpns.authoring import (
    DIRECT,
    DataPath,
    Node,
    Path,
    Process,
    Route,
    TunDevice,
    TunnelVpn,
    VpnError,
    wait_for_ping,
)
from culvert.vpns.wireguard import default_route
from culvert.vpns.wireguard.control import Control
from culvert.vpns.wireguard.device import Program
from culvert.vpns.wireguard.keys import Keys
from culvert.vpns.wireguard.uapi import Pair
from culvert.waiting import wait_until

EVERYTHING: Final = ("0.0.0.0/0", "::/0")
KEEPALIVE: Final = "persistent_keepalive_interval"
_KEEPALIVE_MAX_S = 65535
_SAME_NS = 500_000_000
"""Two handshakes are seconds apart; a time that a program computes from an age varies a little."""
_GUARD_NS = 40_000_000
"""The responder refuses a handshake within 20 ms of the last (HandshakeInitationRate in
wireguard-go), and one whose timestamp, in 16 ms steps, is not later (tai64n.go); the kernel does
the same."""


class Peers(TunDevice, TunnelVpn):
    """A tunnel leads from each initiator to the responder; on a mesh with several measured paths
    from each path's source to its target."""

    _keys: Keys
    _wireguard: Program

    @property
    @abstractmethod
    def control(self) -> Control:
        """The device's configuration, on any node."""

    # -- tunnels -----------------------------------------------------------------------------------

    @property
    def meshed(self) -> bool:
        """Whether each measured path has a tunnel of its own."""
        topology = self.lab.spec.topology
        return topology.name == Shape.MESH and len(topology.paths) > 1

    @property
    def sources(self) -> tuple[Node, ...]:
        """The initiators; on such a mesh every member may be one."""
        return self.lab.members if self.meshed else super().sources

    @property
    def paths(self) -> Sequence[Path]:
        """Those of such a mesh, otherwise from each initiator to the responder."""
        return self.lab.spec.topology.paths if self.meshed else super().paths

    def route(self, path: Path) -> Route:
        """Direct, unless it leads through a hub."""
        return DIRECT if self.meshed else super().route(path)

    @property
    def joining(self) -> Sequence[Node]:
        return [self.lab.nodes[name] for name in dict.fromkeys(path.target for path in self.paths)]

    def peers(self, node: Node) -> tuple[Node, ...]:
        ends = [path for path in self.paths if node.name in (path.source, path.target)]
        names = [path.target if path.source == node.name else path.source for path in ends]
        return tuple(self.lab.nodes[name] for name in dict.fromkeys(names))

    def responder(self, path: Path) -> Node:
        """The node to which the source of a path connects."""
        return self.lab.nodes[path.target] if self.meshed else self.target

    def targets_of(self, node: Node) -> list[Node]:
        """The targets of paths from a node."""
        return [self.lab.nodes[path.target] for path in self.paths if path.source == node.name]

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

    # -- peers -------------------------------------------------------------------------------------

    def _with_endpoint(self, target: Node) -> list[Pair]:
        """A responder as peer of an initiator. Enabling the persistent keepalive triggers the
        handshake: it starts as soon as the interface is up, and needs no packet from outside."""
        there = ("endpoint", self.endpoint(target))
        trigger = [(KEEPALIVE, str(_KEEPALIVE_MAX_S))] if self._wireguard.changes_peers else []
        return [*self._as_peer(target), there, *trigger]

    def _connect_to(self, source: Node, target: Node) -> None:
        """Make a responder the peer of an initiator that runs; it may be one already."""
        if not self._wireguard.changes_peers:
            self._remove(source, target)
        self.control.configure(source, self._with_endpoint(target))

    def _as_peer(self, node: Node) -> list[Pair]:
        if self._leads and node.name == self.target.name:
            return self._keys.peer(node.name, [ip_network(each) for each in EVERYTHING])
        leads = node.name == self.target.name
        whole = self.is_hub and leads
        networks = [each.network if whole else ip_network(each.ip) for each in self.inside(node)]
        networks += self.lab.behind if leads else ()
        return self._keys.peer(node.name, networks)

    @property
    def _leads(self) -> bool:
        """Whether it is the default route of its sources."""
        return self.lab.spec.topology.full_tunnel

    def _remove(self, node: Node, peer: Node) -> None:
        """Remove a peer, and with it all keys of the session."""
        self.control.configure(node, [self._keys.public(peer.name), ("remove", "true")])

    def _forget(self, source: Node, target: Node) -> None:
        self._remove(target, source)
        self.control.configure(target, self._as_peer(source))

    def _listen_at_port(self, target: Node, process: Process | None) -> None:
        """wireguard-go has no port until it sees that the interface is up; then a random one. The
        request for the fixed port returns an error if that port is in use."""
        what = f"node {target.name} bound a UDP socket for {self.device}"
        self.await_fact(lambda: self.control.state(target).listen_port, process, what)
        try:
            self.control.configure(target, [("listen_port", str(self.port))])
        except VpnError as error:
            raise VpnError(
                f"{self.id} on node {target.name}, UDP port {self.port}", error.why, error.remedy
            ) from error

    # -- handshakes --------------------------------------------------------------------------------

    def _last_ns(self, node: Node, peer: Node) -> int:
        """When a node completed the last one with a peer, since the epoch; 0 if it never did."""
        reported = self.control.peer(node, self._keys.public(peer.name)[1]).last_handshake_ns
        if reported and self._wireguard.reports_age:
            return node.realtime_ns() - reported
        return reported

    def _await_handshake(self, source: Node, target: Node) -> None:
        """Return when the first one is complete. Afterwards the keepalive is disabled, so that it
        never disturbs a measurement. A program that cannot change peers has none: a ping is the
        first packet."""
        what = f"node {source.name} completed a handshake with node {target.name}"
        process = self._process(source)
        if process is not None and not self._wireguard.changes_peers:
            address = self.traffic_address(target)
            wait_for_ping(self.id, source, address, process, deadline_s=self.up_deadline_s)
            return
        self._await_another(source, target, 0, what)
        self.control.configure(
            source, [self._keys.public(target.name), ("update_only", "true"), (KEEPALIVE, "0")]
        )

    def _await_another(
        self, source: Node, target: Node, last_ns: int, what: str, deadline_s: float = 0.0
    ) -> None:
        """Return when the last one is not that of ``last_ns`` any more; raises VpnError."""
        self.await_fact(
            lambda: abs(self._last_ns(source, target) - last_ns) > _SAME_NS,
            self._process(source),
            what,
            deadline_s=deadline_s,
            evidence=lambda: self.control.traffic(source, self._keys.public(target.name)[1]),
        )

    def _await_permission(self, node: Node, peer: Node) -> None:
        """Return when a peer, after its last one with a node, accepts the next."""
        guard_ns = _GUARD_NS + self.control.resolution_ns

        def allowed() -> bool:
            return peer.realtime_ns() - self._last_ns(peer, node) > guard_ns

        wait_until(
            allowed,
            what=f"a new handshake with node {peer.name} was allowed",
            deadline_s=guard_ns / 1e9 + 1.0,
        )

    def leave(self, node: Node) -> None:
        """Stop it; the target forgets a source that leaves.

        Otherwise it would refuse a handshake within 20 ms of the last one (a guard against floods
        and replays), and the next connect() would take five seconds.
        """
        super().leave(node)
        if self._leads:
            default_route.clear(node)
        for target in self.targets_of(node):
            if target.link(self.device) is not None:
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
            self._await_permission(node, target)

    def drop(self, path: Path) -> None:
        """Remove the peer, and with it all keys, at both ends."""
        source, target = self.source_of(path), self.responder(path)
        self._remove(source, target)
        self._forget(source, target)

    def resume(self, path: Path) -> None:
        """Add the peer to the running source again: it starts a handshake at once."""
        source, target = self.source_of(path), self.responder(path)
        self._connect_to(source, target)
        self._await_handshake(source, target)

    def rekey(self, path: Path) -> None:
        """Wait until WireGuard renews its keys: 120 s after the last handshake, when the source
        sends.

        There is no request for it. Changes that make wireguard-go start a handshake at once, such
        as a new private key, discard the old keys first, and so block traffic that a rekey does
        not.
        """
        source, target = self.source_of(path), self.responder(path)
        what, last_ns = f"node {source.name} renewed its keys", self._last_ns(source, target)
        self._await_another(source, target, last_ns, what, self.rekey_deadline_s)

    def _process(self, node: Node) -> Process | None:
        return next(iter(self.processes[node.name]), None)

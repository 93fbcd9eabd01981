"""Handshakes: when two nodes had the last one, and when the next is allowed."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.vpns.authoring import Node, Process, Vpn
from culvert.vpns.wireguard.control import Control
from culvert.vpns.wireguard.keys import Keys
from culvert.waiting import wait_until

_GUARD_NS = 40_000_000
"""The responder refuses a handshake within 20 ms of the last (HandshakeInitationRate in
wireguard-go), and one whose timestamp, in 16 ms steps, is not later (tai64n.go); the kernel does
the same."""


@dataclass(frozen=True)
class Handshakes:
    """Those of the nodes that ``keys`` identify."""

    vpn: Vpn
    control: Control
    keys: Keys

    def last_ns(self, node: Node, peer: Node) -> int:
        """When a node completed the last one with a peer, since the epoch; 0 if it never did."""
        return self.control.peer(node, self._key(peer)).last_handshake_ns

    def wait(
        self,
        node: Node,
        peer: Node,
        process: Process | None,
        what: str,
        *,
        deadline_s: float = 0.0,
        after_ns: int = 0,
    ) -> None:
        """Return when the last one is not that of ``after_ns`` any more; raises VpnError."""
        self.vpn.await_fact(
            lambda: self.last_ns(node, peer) != after_ns,
            process,
            what,
            deadline_s=deadline_s,
            evidence=lambda: self.control.traffic(node, self._key(peer)),
        )

    def wait_until_allowed(self, node: Node, peer: Node) -> None:
        """Return when a peer, after its last one with a node, accepts the next."""
        guard_ns = _GUARD_NS + self.control.resolution_ns

        def allowed() -> bool:
            return peer.realtime_ns() - self.last_ns(peer, node) > guard_ns

        wait_until(
            allowed,
            what=f"a new handshake with node {peer.name} was allowed",
            deadline_s=guard_ns / 1e9 + 1.0,
        )

    def _key(self, peer: Node) -> str:
        return self.keys.public(peer.name)[1]

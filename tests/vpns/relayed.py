"""A pretended mesh VPN: WireGuard whose source calls a relay, which passes packets on.

::

    a ── core ── relay        DNAT to b, and the relay's own address as the source
           └──── b

What it claims, what it reports and which way its packets travel is each given by a class below.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from culvert.labs.node import Node
from culvert.measurements.base import BaseParameters
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.measurements.tunnel.failover import received_packets
from culvert.topology.graph import Path, Role
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.base import underlay_address
from culvert.vpns.variant import DIRECT, Route, RouteCount, Variant
from culvert.vpns.wireguard.control import ControlSocket
from culvert.vpns.wireguard.driver import WireGuard
from culvert.vpns.wireguard.variants import PORT
from culvert.waiting import wait_until

RELAY = "relay"
VIA_RELAY = Route(RELAY)
AFTER_PACKETS = 500
"""Packets at the relay, of the part that is measured, after which the path changes."""
_RULES = """\
table ip relayed {{
  chain inward {{
    type nat hook prerouting priority dstnat;
    udp dport {port} dnat to {target}
  }}
  chain outward {{
    type nat hook postrouting priority srcnat;
    udp dport {port} masquerade
  }}
}}
"""
_GONE = """\
table ip relayed {
  chain gone {
    type filter hook forward priority filter; policy drop;
  }
}
"""


class Relayed(WireGuard):
    """Claims the relay, reports what the program has as its endpoint, and uses the relay."""

    name = "relayed"
    summary = "WireGuard through a relay"
    variants: ClassVar[tuple[Variant, ...]] = (replace(WireGuard.variants[0], needs=(Role.RELAY,)),)
    claimed: ClassVar[Route] = VIA_RELAY
    travels: ClassVar[Route] = VIA_RELAY

    def serve(self, server: Node) -> None:
        """Its kernel passes on what comes to WireGuard's port, and tells nobody a better way."""
        for setting in ("ip_forward=1", "conf.all.send_redirects=0", "conf.u0.send_redirects=0"):
            server.run(["sysctl", "-q", "-w", f"net.ipv4.{setting}"])
        rules = _RULES.format(port=PORT, target=underlay_address(self.target))
        server.run(["nft", "-f", "-"], stdin=rules)

    def route(self, path: Path) -> Route:
        return self.claimed

    def determine_route(self, path: Path) -> Route:
        """By the endpoint of the source's only peer."""
        assert isinstance(self.control, ControlSocket)
        source, relay = self.source_of(path), self.lab.nodes[RELAY]
        with source.dial(self.control.path) as connection:
            connection.sendall(b"get=1\n\n")
            state = dict(line.split("=", 1) for line in _reply(connection.recv))
        address = state["endpoint"].rpartition(":")[0]
        return VIA_RELAY if address == str(underlay_address(relay)) else DIRECT

    def stop(self, lab: Any) -> None:
        """The relay's rules go with it."""
        super().stop(lab)
        for server in lab.of_role(Role.RELAY):
            server.run(["nft", "delete", "table", "ip", "relayed"], check=False)

    def change_path(self) -> None:
        """The relay passes nothing on, and the source calls the target itself. While packets came
        from the relay, WireGuard would roam back to it at once."""
        self.lab.nodes[RELAY].run(["nft", "-f", "-"], stdin=_GONE)
        self.control.configure(
            self.lab.a,
            [
                self._keys.public(self.target.name),
                ("update_only", "true"),
                ("endpoint", f"{underlay_address(self.target)}:{PORT}"),
            ],
        )

    def _with_endpoint(self, target: Node) -> list[tuple[str, str]]:
        called = dict(super()._with_endpoint(target))
        called["endpoint"] = f"{underlay_address(self._called)}:{PORT}"
        return list(called.items())

    @property
    def _called(self) -> Node:
        via = self.travels.via
        return self.target if via is None else self.lab.nodes[via]


class ReportsItsClaim(Relayed):
    """Its report is worth nothing: only packets tell."""

    def determine_route(self, path: Path) -> Route:
        return self.claimed


class ClaimsDirect(Relayed):
    claimed = DIRECT


class PretendsDirect(ReportsItsClaim):
    claimed = DIRECT


class ClaimsRelay(Relayed):
    travels = DIRECT


class PretendsRelay(ReportsItsClaim):
    travels = DIRECT


class CountsDirect(Relayed):
    """By its own counters some packets do not go through the relay."""

    packets: ClassVar[int] = 0

    def sent(self, node: Node) -> RouteCount:
        CountsDirect.packets += 1
        return RouteCount(direct=self.packets, relayed=1000 * self.packets)


class Direct(Relayed):
    """A mesh VPN that has a relay and does not need it on this path."""

    claimed = DIRECT
    travels = DIRECT


class ChangesPath(Tcp):
    """TCP during which the path changes, once enough of its packets have crossed the relay."""

    def run(self, session: Session, parameters: BaseParameters) -> Outcome:
        vpn = session.vpn
        assert isinstance(vpn, Relayed)
        assert isinstance(parameters, TcpParameters)
        relay = session.lab.nodes[RELAY]
        enough = received_packets(relay) + AFTER_PACKETS
        change = threading.Thread(target=_once_received, args=(relay, enough, vpn.change_path))
        change.start()
        outcome = super().run(session, parameters)
        change.join()
        return outcome


def _once_received(node: Node, packets: int, do: Callable[[], None]) -> None:
    wait_until(
        lambda: received_packets(node) >= packets,
        what=f"{packets} packets were at node {node.name}",
        deadline_s=5.0,
    )
    do()


def _reply(receive: Callable[[int], bytes]) -> list[str]:
    text = b""
    while not text.endswith(b"\n\n"):
        more = receive(65536)
        assert more, "WireGuard's configuration socket was closed"
        text += more
    return text.decode().split()

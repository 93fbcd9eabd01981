"""EasyTier 2: a mesh whose members share a name and a secret, direct or through a relay.

::

    outer  IP 20 | UDP 8 | connection 4, type 1, 0, length 2 | peers 8, type 1, 7
           | inner IP packet | tag 16, nonce 12

A relay passes packets on as they are, with another connection's number. Source:
src/tunnel/packet_def.rs, src/peers/encrypt and src/peers/peer_manager.rs of the crate 2.0.3.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from culvert.vpns.authoring import (
    DIRECT,
    SEE_LOG,
    DataCipher,
    Lab,
    MeshVpn,
    Node,
    OuterPacket,
    Role,
    Route,
    Variant,
    VpnError,
    kept_relayed,
)
from culvert.vpns.parts.server import await_listening

_PROGRAM, _CLIENT = "easytier-core", "easytier-cli"
_PORT = 11010
_SILENTLY = ("sh", "-c", 'exec "$@" > /dev/null', "sh")
"""It prints its configuration, with the secret; errors and warnings are on standard error."""
_COLUMN, _NO_HOP = "│", "DIRECT"
_TYPE, _DATA = 4, 3
_PEER_TYPE, _PEER_HANDSHAKE = 16, 2
_CONFIGURATION = """\
instance_name = "culvert"
hostname = "{name}"
{address}listeners = {listeners}
rpc_portal = "127.0.0.1:{portal}"
{peers}
[network_identity]
network_name = "culvert"
network_secret = "{secret}"

[console_logger]
level = "warn"

[flags]
default_protocol = "udp"
dev_name = "{device}"
mtu = {mtu}
latency_first = false
disable_p2p = true
disable_udp_hole_punching = true
"""
_FACTS = {
    "cipher": "AES-128-GCM",
    "key exchange": "none: the key is a hash (SipHash) of the shared secret",
    "transport": f"UDP {_PORT}",
}


class EasyTier(MeshVpn):
    """A member connects to those behind it, or to the relay alone; it looks for no other paths."""

    name = "easytier"
    summary = "EasyTier, a mesh in user space, direct or by a relay"
    variants = (
        Variant("direct", "over UDP, with its default cipher", _FACTS, cipher=DataCipher.AES),
        Variant(
            "relay",
            "the same, by a relay",
            {**_FACTS, **kept_relayed("disable_p2p, and the relay as the only peer")},
            cipher=DataCipher.AES,
            needs=(Role.RELAY,),
        ),
    )
    role = "easytier"
    programs = (_PROGRAM, _CLIENT)
    device, port = "easytier0", _PORT
    _portal = 15888
    """Of what the client asks on the node's loopback address (TCP)."""
    overhead = 20 + 8 + 8 + 16 + 28
    up_deadline_s = 60.0
    """A connection without traffic is tested every 32 s, and closed when four tests have failed."""

    def choose(self, lab: Lab) -> None:
        """Also the port of the client's requests."""
        super().choose(lab)
        self._portal = lab.free_port(self._portal)

    def configure(self) -> None:
        """One name and secret for all. Those that listen are the relay, or all members."""
        secret = secrets.token_hex(16)
        relays = self.lab.of_role(*self.needs)
        nodes = (*self.lab.members, *relays)
        first = len(self.lab.members) if relays else 0
        uris = [f"udp://{self.endpoint(node)}" for node in nodes]
        for number, node in enumerate(nodes):
            peers = uris[max(first, number + 1) :]
            text = _CONFIGURATION.format(
                name=node.name,
                address="" if node in relays else f'ipv4 = "{self.inner(node)}"\n',
                listeners=json.dumps([uris[number]] if number >= first else []),
                portal=self._portal,
                peers="".join(f'\n[[peer]]\nuri = "{peer}"\n' for peer in peers),
                secret=secret,
                device=self.device,
                mtu=self.inner_mtu,
            )
            node.write("easytier/config", text, secret=True)

    def serve(self, server: Node) -> None:
        """A relay has no address, and so no device."""
        self.start(server)

    def start(self, member: Node) -> None:
        """Start it; it answers the client when its device is up."""
        configuration = str(member.directory / "easytier/config")
        argv = [*_SILENTLY, self.program(member, _PROGRAM), "--config-file", configuration]
        await_listening(self, member, self.start_process(member, argv, _PROGRAM), self._portal)

    def leave(self, node: Node) -> None:
        """The others send to a member that has left until its connection is closed, also after it
        has joined again. Packets without an answer make them test it every second."""
        super().leave(node)
        others = [each for each in self.lab.members if self.processes[each.name]]
        with ExitStack() as pings:
            for other in others:
                ping = other.require("ping", "install iputils-ping")
                argv = [ping, "-n", "-q", "-i", "0.5", str(self.inner(node).ip)]
                pings.callback(other.spawn(argv, name=f"ping-{node.name}").stop, grace_s=0)
            for other in others:
                self._await_closed(other, node.name)

    def _await_closed(self, node: Node, name: str) -> None:
        self.await_fact(
            lambda: name not in self._table(node),
            self.processes[node.name][-1],
            f"node {node.name} had no connection to node {name} any more",
            poll_s=0.2,  # each starts a program
        )

    # -- what the proof needs ----------------------------------------------------------------------

    def route_to(self, node: Node, peer: Node) -> Route:
        found = self.routes(node, [peer])
        if not found:
            raise VpnError(f"{self.id} on node {node.name}", f"no route to {peer.name}", SEE_LOG)
        return found[peer.name]

    def routes(self, source: Node, targets: Sequence[Node]) -> Mapping[str, Route]:
        """By its table; not those to which it has two, over a dead connection and a new one."""
        found = self._table(source)
        names = [each.name for each in targets if len(found[each.name]) == 1]
        return {name: route for name in names for route in found[name]}

    def _table(self, node: Node) -> Mapping[str, set[Route]]:
        argv = [self.program(node, _CLIENT), "-p", f"127.0.0.1:{self._portal}", "route"]
        done = node.run(argv, check=False)
        if done.returncode:
            where = f"{_CLIENT} on node {node.name}"
            raise VpnError(where, done.stderr.strip() or "no answer", SEE_LOG)
        return read_table(done.stdout)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """What opens a connection over UDP, and the first messages of peers in it."""
        payload = packet.payload
        if len(payload) <= _TYPE or payload[_TYPE] != _DATA:
            return True
        return len(payload) > _PEER_TYPE and payload[_PEER_TYPE] == _PEER_HANDSHAKE


def read_table(text: str) -> Mapping[str, set[Route]]:
    """The routes to each node by name, from the client's table; a node that came back may have two,
    one that is unknown has none."""
    lines = [line for line in text.splitlines() if line.startswith(_COLUMN)]
    header, *rows = ([cell.strip() for cell in line.split(_COLUMN)] for line in lines)
    routes: dict[str, set[Route]] = defaultdict(set)
    for cells in rows:
        row = dict(zip(header, cells, strict=True))
        direct = row["next_hop_ipv4"] == _NO_HOP
        routes[row["hostname"]].add(DIRECT if direct else Route(row["next_hop_hostname"]))
    return routes

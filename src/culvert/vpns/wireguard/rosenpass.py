"""Rosenpass beside WireGuard: a post-quantum key exchange (Classic McEliece and Kyber) whose result
is WireGuard's pre-shared key.

::

    rosenpass at the source ── three messages over UDP ── rosenpass at the target
             └─ a file with the key                                └─ the same
"""

from __future__ import annotations

import base64
from contextlib import suppress
from socket import IPPROTO_UDP
from typing import Final

from culvert.vpns.authoring import (
    Host,
    Missing,
    Node,
    NotPossible,
    OuterFlow,
    OuterMessage,
    TunDevice,
    endpoint,
    underlay_address,
)

PROGRAM: Final = "rosenpass"
PORT: Final = 9999
_OWN, _PEER, _KEY = "rosenpass/public.key", "rosenpass/peer.key", "rosenpass/exchanged.key"
_PRIVATE = "rosenpass/secret.key"
_PRIVATELY = ("sh", "-c", 'umask 077 && exec "$@"', "sh")
"""The program writes keys with the mode that this leaves."""
_MAC_COOKIE = 32
_EMPTY_DATA = OuterMessage(b"\x84\0\0\0")
_MESSAGES = (
    *(OuterMessage(bytes((kind, 0, 0, 0)), noise_from=4, noise_behind=_MAC_COOKIE)
      for kind in (0x81, 0x82, 0x83)),
    _EMPTY_DATA,
)  # fmt: skip


class Rosenpass:
    """One exchange between two nodes; its processes are the VPN's."""

    def __init__(self, vpn: TunDevice) -> None:
        self._vpn = vpn

    @property
    def flow(self) -> OuterFlow:
        """Its packets on the underlay: all are a handshake's."""
        return OuterFlow(IPPROTO_UDP, frozenset({PORT}), messages=_MESSAGES)

    def missing(self, host: Host) -> list[Missing]:
        return [] if host.find(PROGRAM) else [Missing.to_install(PROGRAM, self._vpn.id)]

    def configure(self, *nodes: Node) -> None:
        """A key pair for each of both nodes, and the public key of the other."""
        if len(nodes) != 2:
            raise NotPossible(self._vpn.id, "connects two nodes here", "leave +rosenpass out")
        for node, peer in (nodes, nodes[::-1]):
            public = node.write(_OWN, "")
            drafted = public.with_name("drafted.key")
            words = ["gen-keys", "--force", "--public-key", str(public)]
            program = node.require(PROGRAM, f"culvert install {self._vpn.id}")
            node.run([*_PRIVATELY, program, *words, "--secret-key", str(drafted)])
            node.write(_PRIVATE, node.read(str(drafted)), secret=True)
            node.remove(str(drafted))
            peer.write(_PEER, node.read(str(public)))

    def start(self, node: Node, target: Node) -> None:
        """Start a node's program: that of the target listens, the other one's initiates."""
        there = endpoint(underlay_address(target), PORT)
        listens = node.name == target.name
        home = node.directory
        words = ["exchange", "public-key", str(home / _OWN), "secret-key", str(home / _PRIVATE)]
        words += ["listen", there] if listens else []
        words += ["peer", "public-key", str(home / _PEER)]
        words += [] if listens else ["endpoint", there]
        program = node.require(PROGRAM, f"culvert install {self._vpn.id}")
        argv = [*_PRIVATELY, program, *words, "outfile", str(home / _KEY)]
        self._vpn.start_process(node, argv, f"{PROGRAM}-{node.name}")

    def exchange(self, source: Node, target: Node) -> str:
        """Start the source's program; the key that both ends then have, in hexadecimal."""
        source.remove(str(source.directory / _KEY))
        self.start(source, target)

        def agreed() -> str:
            own = _key(source)
            return own if own == _key(target) else ""

        process = self._vpn.processes[source.name][-1]
        what = f"rosenpass on nodes {source.name} and {target.name} had the same key"
        return self._vpn.await_fact(agreed, process, what, poll_s=0.002)


def _key(node: Node) -> str:
    """In hexadecimal; empty as long as there is none."""
    path = str(node.directory / _KEY)
    with suppress(OSError, ValueError):
        found = base64.b64decode(node.read(path), validate=True) if node.exists(path) else b""
        return found.hex() if len(found) == 32 else ""
    return ""

"""Nebula's certificates: an authority for one mesh, on its lighthouse; keys stay on their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Interface, IPv4Network, IPv6Interface

from culvert.vpns.authoring import Node

PROGRAM = "nebula-cert"
LIFETIME = "168h"
"""Longer than any study, short enough that a leaked key is worthless soon."""
AUTHORITY, CERTIFICATE, KEY = "nebula/ca.crt", "nebula/host.crt", "nebula/host.key"
"""Files in a node's directory."""
_AUTHORITY_KEY, _PUBLIC = "nebula/ca.key", "nebula/host.pub"


class Authority:
    """Signs the certificates of one mesh. ``seat`` is the node that keeps its key, mode 0600."""

    def __init__(self, seat: Node) -> None:
        self._seat = seat
        for file in (AUTHORITY, _AUTHORITY_KEY):  # it overwrites neither
            seat.remove(_at(seat, file))
        out = ["-out-crt", _at(seat, AUTHORITY), "-out-key", _at(seat, _AUTHORITY_KEY)]
        _run(seat, "ca", "-name", "culvert", "-duration", LIFETIME, *out)

    def issue(
        self,
        node: Node,
        address: IPv4Interface,
        ipv6: IPv6Interface | None = None,
        *,
        lifetime: str = "",
        behind: Sequence[IPv4Network] = (),
    ) -> None:
        """A new key on the node and a certificate for its addresses inside the mesh, and for the
        networks behind it.

        ``lifetime`` such as 24h; empty: as long as the authority's own.
        """
        _run(node, "keygen", "-out-key", _at(node, KEY), "-out-pub", _at(node, _PUBLIC))
        request, signed = f"nebula/{node.name}.pub", f"nebula/{node.name}.crt"
        self._seat.write(request, node.read(_at(node, _PUBLIC)))
        self._seat.remove(_at(self._seat, signed))
        networks = [address, *([] if ipv6 is None else [ipv6])]
        words = ["-name", node.name, "-networks", ",".join(map(str, networks))]
        words += ["-unsafe-networks", ",".join(map(str, behind))] if behind else []
        words += ["-duration", lifetime] if lifetime else []
        signer = ["-ca-crt", _at(self._seat, AUTHORITY), "-ca-key", _at(self._seat, _AUTHORITY_KEY)]
        files = ["-in-pub", _at(self._seat, request), "-out-crt", _at(self._seat, signed)]
        _run(self._seat, "sign", *words, *signer, *files)
        node.write(CERTIFICATE, self._seat.read(_at(self._seat, signed)))
        if node.name != self._seat.name:
            node.write(AUTHORITY, self._seat.read(_at(self._seat, AUTHORITY)))


def _at(node: Node, file: str) -> str:
    return str(node.directory / file)


def _run(node: Node, *words: str) -> None:
    node.run([node.require(PROGRAM, "culvert install nebula"), *words])

"""Reports of Nebula's consoles: tunnels, and the addresses that a lighthouse knows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from culvert.vpns.authoring import Node, VpnError
from culvert.vpns.nebula.console import PORT, Console


@dataclass(frozen=True)
class Tunnel:
    """A node's end of a tunnel: ``index`` changes with its keys; ``remote`` is the peer's address
    and port on the underlay, empty if packets go through one of ``relays`` (addresses inside)."""

    index: int
    remote: str
    relays: tuple[str, ...]


class Consoles:
    """The consoles of a mesh's nodes, opened when they are used. Methods raise OSError where Nebula
    does not run, or does not answer."""

    def __init__(self, port: int = PORT) -> None:
        self.port = port
        self._open: dict[str, Console] = {}
        self._locks: dict[str, Lock] = defaultdict(Lock)
        """By node: members that join together query the lighthouse one by one."""

    def ask(self, node: Node, request: str) -> str:
        """The reply to a request; after an error, the next request opens a new session."""
        with self._locks[node.name]:
            try:
                if node.name not in self._open:
                    self._open[node.name] = Console(node, self.port)
                return self._open[node.name].ask(request)
            except OSError:
                self.close(node)
                raise

    def tunnel(self, node: Node, address: str) -> Tunnel | None:
        """The node's tunnel to an address inside the mesh; None if there is none."""
        for listed in self._list(node, "list-hostmap -json"):
            if address in listed["vpnAddrs"]:
                relays = tuple(listed["currentRelaysToMe"])
                return Tunnel(listed["localIndex"], listed["currentRemote"], relays)
        return None

    def established(self, node: Node, address: str) -> Tunnel:
        """The same; raises VpnError if there is none, or Nebula does not answer."""
        with _answering(node):
            found = self.tunnel(node, address)
        if found is None:
            raise VpnError(
                f"nebula on node {node.name}",
                f"it has no tunnel to {address}",
                "check whether the underlay carries the VPN's packets",
            )
        return found

    def has_another(self, node: Node, address: str, than: Tunnel) -> bool:
        """Whether the node's tunnel to an address has other keys than it had."""
        found = self.tunnel(node, address)
        return found is not None and found.index != than.index

    def close_tunnels(self, node: Node, address: str) -> None:
        """The node forgets its tunnels to an address: two, if both ends made one at a time. Raises
        VpnError if Nebula does not answer."""
        with _answering(node):
            while self.tunnel(node, address) is not None:
                self.ask(node, f"close-tunnel -local-only {address}")

    def reload(self, node: Node) -> None:
        """The node reads its configuration and certificate again; that ends its session."""
        with suppress(ConnectionResetError):
            self.ask(node, "reload")
        self.close(node)

    def has_registered(self, lighthouse: Node, address: str) -> bool:
        """Whether a lighthouse has what the node with an address inside the mesh reported."""
        return any(
            listed["vpnAddr"] == address
            and any(known.get("reported") for known in listed["addrs"].values())
            for listed in self._list(lighthouse, "list-lighthouse-addrmap -json")
        )

    def close(self, node: Node) -> None:
        """End the node's session, if there is one."""
        if (console := self._open.pop(node.name, None)) is not None:
            console.close()

    def _list(self, node: Node, request: str) -> list[dict[str, Any]]:
        try:
            return list(json.loads(self.ask(node, request)))
        except ValueError as error:
            raise OSError(f"the reply to {request} is not a list: {error}") from error


@contextmanager
def _answering(node: Node) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VpnError(f"nebula on node {node.name}", str(error), "see its log") from error

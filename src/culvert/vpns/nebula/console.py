"""Nebula's debug console on a node: its own SSH server, on the node's loopback address only; and
what it reports: tunnels, and the addresses that a lighthouse knows.

One connection is kept open for the requests' sessions, each a command: Nebula may crash when it
opens a terminal (``createTerm`` starts to read from it before it is there). Source:
sshd/session.go and ssh.go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from culvert.errors import DeadlineExceeded
from culvert.json_text import read_json
from culvert.vpns.authoring import SEE_LOG, Node, VpnError, accepts, wait_for_fact
from culvert.vpns.parts.pki import openssh_key

CLIENT = "ssh"
PORT = 2222
_USER = "culvert"
_NAME = "nebula-console"
_KEY, _KNOWN, _SOCKET = "nebula/console.key", "nebula/console.known", "nebula/console"
_DEADLINE_S = 5.0


def configure(node: Node, port: int) -> Mapping[str, Any]:
    """Write a new key to the node, which serves both ends of the console on this port (TCP); return
    the configuration's section ``sshd``."""
    private, public = openssh_key()
    path = node.write(_KEY, private, secret=True)
    node.write(_KNOWN, f"[127.0.0.1]:{port} {public}\n")
    return {
        "enabled": True,
        "listen": f"127.0.0.1:{port}",
        "host_key": str(path),
        "authorized_users": [{"user": _USER, "keys": [public]}],
    }


class Console:
    """A connection, opened when Nebula listens. Requests raise OSError while it does not, and after
    it has ended."""

    def __init__(self, node: Node, port: int) -> None:
        self._node = node
        self._socket = str(node.directory / _SOCKET)
        node.remove(self._socket)  # of a connection that was killed
        options = {
            "IdentityFile": node.directory / _KEY,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": node.directory / _KNOWN,
            "GlobalKnownHostsFile": "none",
            "ControlPath": self._socket,
            "BatchMode": "yes",
            "LogLevel": "ERROR",
        }
        client = node.require(CLIENT, "install openssh-client")
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        self._argv = [client, "-T", "-F", "none", *words, "-p", str(port), f"{_USER}@127.0.0.1"]
        self._process = node.spawn([*self._argv, "-N", "-o", "ControlMaster=yes"], name=_NAME)
        try:
            wait_for_fact(
                lambda: accepts(node, self._socket),
                vpn="Nebula's console",
                process=self._process,
                what="its connection was open",
                deadline_s=_DEADLINE_S,
            )
        except VpnError as error:  # Nebula does not listen yet, or any more
            self.close()
            raise ConnectionResetError(f"Nebula's console does not answer: {error.why}") from error

    def ask(self, request: str) -> str:
        """The reply to a request such as ``print-cert``; without its last line break."""
        try:
            done = self._node.run([*self._argv, request], timeout_s=_DEADLINE_S, check=False)
        except DeadlineExceeded as error:
            raise ConnectionResetError("Nebula's console does not answer") from error
        if done.returncode:
            raise ConnectionResetError(f"Nebula's console ended: {done.stderr.strip()}")
        return done.stdout.strip()

    def close(self) -> None:
        self._process.stop(grace_s=0)


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
        """The node's tunnel to an address; VpnError if there is none, or Nebula does not answer."""
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
            return list(read_json(self.ask(node, request)))
        except ValueError as error:
            raise OSError(f"the reply to {request} is not a list: {error}") from error


@contextmanager
def _answering(node: Node) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VpnError(f"nebula on node {node.name}", str(error), SEE_LOG) from error

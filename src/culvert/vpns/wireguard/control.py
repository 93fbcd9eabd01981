"""WireGuard's configuration and state: through a program's socket, or the kernel's through ``wg``
with the same pairs."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Sequence
from ipaddress import IPv4Address, ip_network
from typing import ClassVar

from culvert.vpns.authoring import Node, VpnError
from culvert.vpns.wireguard import uapi
from culvert.vpns.wireguard.uapi import DeviceState, Pair, PeerState

TOOL = "wg"
_WORDS = {
    "private_key": "PrivateKey",
    "listen_port": "ListenPort",
    "fwmark": "FwMark",
    "public_key": "PublicKey",
    "preshared_key": "PresharedKey",
    "allowed_ip": "AllowedIPs",
    "endpoint": "Endpoint",
    "persistent_keepalive_interval": "PersistentKeepalive",
}
_KEYS = {"private_key", "public_key", "preshared_key"}
_DEFAULTS = {"replace_allowed_ips"}
"""Keys whose effect ``wg addconf`` has by default."""


class Control(ABC):
    """One device name, on any node."""

    resolution_ns: ClassVar[int]
    """Resolution of the time of the last handshake."""

    def __init__(self, device: str) -> None:
        self.device = device

    @abstractmethod
    def configure(self, node: Node, pairs: Sequence[Pair]) -> None:
        """Apply ``pairs``, in the keys of ``uapi``. Raises VpnError if they are refused."""

    @abstractmethod
    def state(self, node: Node) -> DeviceState:
        """The device's state. Raises OSError if the program does not answer (yet), VpnError if it
        refuses."""

    def peer(self, node: Node, public_key: str) -> PeerState:
        """The peer of that key (hexadecimal); raises VpnError if there is none."""
        for peer in self.state(node).peers:
            if peer.public_key == public_key:
                return peer
        raise VpnError(f"WireGuard on node {node.name}", "has no such peer", "report this")

    def carrier(self, node: Node, address: IPv4Address) -> PeerState | None:
        """The peer that packets for an inner address are encrypted for: of the smallest network
        that has it; None if there is none."""
        carrying = [
            (network.prefixlen, peer.public_key, peer)
            for peer in self.state(node).peers
            for network in peer.allowed
            if address in network
        ]
        return max(carrying)[2] if carrying else None

    def traffic(self, node: Node, public_key: str) -> str:
        """Bytes sent to and received from a peer, in words."""
        try:
            peer = self.peer(node, public_key)
        except (OSError, VpnError):
            return "WireGuard does not answer any more"
        return f"{peer.tx_bytes} bytes sent to the peer, {peer.rx_bytes} received"


class ControlSocket(Control):
    """For a program in user space."""

    resolution_ns = 1

    def __init__(self, device: str, directory: str = "/run/wireguard") -> None:
        super().__init__(device)
        self.path = f"{directory}/{device}.sock"

    def configure(self, node: Node, pairs: Sequence[Pair]) -> None:
        uapi.configure(lambda: node.dial(self.path), pairs)

    def state(self, node: Node) -> DeviceState:
        return uapi.state(lambda: node.dial(self.path))


class ControlTool(Control):
    """For the kernel's WireGuard. ``wg`` prints times in whole seconds, and reads keys from its
    standard input, never from arguments."""

    resolution_ns = 1_000_000_000

    def configure(self, node: Node, pairs: Sequence[Pair]) -> None:
        """Raises VpnError if the kernel refuses them."""
        added, changes = translate(pairs)
        if added:
            _run(node, ["addconf", self.device, "/dev/stdin"], added)
        for words in changes:
            _run(node, ["set", self.device, *words])

    def state(self, node: Node) -> DeviceState:
        """The command prints the keys too; they are not passed on."""
        printed = _run(node, ["show", self.device, "dump"])
        try:
            return _parse(printed)
        except ValueError as error:
            where = f"{TOOL} show on node {node.name}"
            raise VpnError(
                where, "its output has an unknown form", "install wireguard-tools"
            ) from error


def _parse(dump: str) -> DeviceState:
    """A device's line, then one for each peer (wg(8)); ValueError for another form."""
    (_, _, port, _), *rows = (line.split("\t") for line in dump.splitlines())
    return DeviceState(
        int(port),
        tuple(
            PeerState(
                _hexadecimal(key),
                int(seconds) * 1_000_000_000,
                int(sent),
                int(received),
                tuple(ip_network(each) for each in allowed.split(",") if each != "(none)"),
            )
            for key, _, _, allowed, seconds, received, sent, _ in rows
        ),
    )


def translate(pairs: Sequence[Pair]) -> tuple[str, list[list[str]]]:
    """The configuration to add, and the arguments of ``wg set`` for the changes."""
    sections: list[list[Pair]] = [[]]
    for pair in pairs:
        if pair[0] == "public_key":
            sections.append([])
        sections[-1].append(pair)
    added, changes = [], []
    for number, section in enumerate(sections):
        keys = dict(section)
        if "remove" in keys:
            changes.append(["peer", _base64(keys["public_key"]), "remove"])
        elif "update_only" in keys:
            every = keys["persistent_keepalive_interval"]
            changes.append(["peer", _base64(keys["public_key"]), "persistent-keepalive", every])
        elif section:
            added.append("[Peer]" if number else "[Interface]")
            added += [
                f"{_WORDS[key]} = {_base64(value) if key in _KEYS else value}"
                for key, value in section
                if key not in _DEFAULTS
            ]
    return "".join(f"{line}\n" for line in added), changes


def _run(node: Node, words: Sequence[str], text: str | None = None) -> str:
    program = node.require(TOOL, "culvert install wireguard/kernel")
    done = node.run([program, *words], stdin=text, check=False)
    if done.returncode:
        printed = done.stderr.strip().splitlines()[-1:]
        raise VpnError(
            f"WireGuard's configuration on node {node.name}",
            f"{words[0]} was refused: {' '.join(printed)}",
            "stop the program that uses the UDP port on this node, or see the kernel's log",
        )
    return done.stdout


def _base64(hexadecimal: str) -> str:
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()


def _hexadecimal(text: str) -> str:
    return base64.b64decode(text).hex()

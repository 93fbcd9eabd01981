"""The kernel's WireGuard, configured by ``wg`` with the same pairs as the programs in user space.
Keys go through standard input, never into arguments.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from ipaddress import ip_network

from culvert.vpns.authoring import Node, VpnError
from culvert.vpns.wireguard.control import Control
from culvert.vpns.wireguard.uapi import DeviceState, Pair, PeerState

PROGRAM = "wg"
_WORDS = {
    "private_key": "PrivateKey",
    "listen_port": "ListenPort",
    "public_key": "PublicKey",
    "preshared_key": "PresharedKey",
    "allowed_ip": "AllowedIPs",
    "endpoint": "Endpoint",
    "persistent_keepalive_interval": "PersistentKeepalive",
}
_KEYS = {"private_key", "public_key", "preshared_key"}
_DEFAULTS = {"replace_allowed_ips"}
"""Keys whose effect ``wg addconf`` has by default."""


class ControlTool(Control):
    """For the kernel's WireGuard. ``wg`` prints times in whole seconds."""

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
            where = f"{PROGRAM} show on node {node.name}"
            raise VpnError(where, "printed another form", "install wireguard-tools") from error


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
    program = node.require(PROGRAM, "culvert install wireguard/kernel")
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

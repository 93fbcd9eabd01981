"""tinc 1.0: a mesh daemon with RSA keys; it negotiates over TCP and carries data over UDP.

::

    outer  IP 20 | UDP 8 | padded blocks of: number 4, frame 14, inner IP packet | digest 4
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from socket import IPPROTO_TCP

from culvert.vpns.authoring import (
    DataCipher,
    Node,
    OuterMessage,
    TunProgram,
    Variant,
    underlay_address,
)
from culvert.vpns.parts.pki import rsa_key
from culvert.vpns.parts.server import await_listening

_PORT = 655
_BLOCK = 16
_DIGEST = 4
_CONFIGURATION = """\
Name = {name}
Interface = {device}
DeviceType = tun
BindToAddress = {address}
{connect}"""
_HOST = """\
Address = {address}
Port = {port}
{subnets}Cipher = {cipher}
Digest = sha256
PMTUDiscovery = no
{key}"""


def _variant(name: str, summary: str) -> Variant:
    exchange = "RSA 2048, its own protocol over TCP"
    facts = {"cipher": name, "digest": "SHA-256, 4 bytes", "key exchange": exchange}
    facts["transport"] = f"UDP and TCP {_PORT}"
    return Variant(name, summary, facts, cipher=DataCipher.AES)


class Tinc(TunProgram):
    """Each source connects to the target by TCP; both then send data by UDP. Discovery of the MTU
    is off: until it ends, tinc sends large packets over TCP."""

    name = "tinc"
    summary = "tinc 1.0, in user space"
    variants = (
        _variant("aes-256-cbc", "its default cipher"),
        _variant("aes-128-cbc", "with shorter keys"),
    )
    ipv6_inside = True
    role = "tinc"
    program = "tincd"
    configures_device = False
    forwards = True
    no_initiation = "its first packets go over TCP until both ends have each other's key for UDP"
    device, port, also_transports = "tinc0", _PORT, (IPPROTO_TCP,)

    def configure(self) -> None:
        """A folder for each node: its key, and a file for each host that it knows."""
        hosts = {}
        for node in self.ends:
            private, public = rsa_key()
            node.write("tinc/rsa_key.priv", private, secret=True)
            hosts[node.name] = _HOST.format(
                address=underlay_address(node),
                port=self.port,
                subnets="".join(f"Subnet = {each.ip}\n" for each in self.inside(node)),
                cipher=self.variant.name,
                key=public,
            )
        for node in self.ends:
            connect = "" if node is self.target else f"ConnectTo = {self.target.name}\n"
            text = _CONFIGURATION.format(
                name=node.name, device=self.device, address=underlay_address(node), connect=connect
            )
            node.write("tinc/tinc.conf", text)
            for known in (node, *self.peers(node)):
                node.write(f"tinc/hosts/{known.name}", hosts[known.name])

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        """All is encrypted, the number too."""
        return (OuterMessage(least=_BLOCK + _DIGEST, step=_BLOCK, noise_from=0),)

    def arguments(self, node: Node) -> Sequence[str]:
        folder = node.directory / "tinc"
        return ["--config", str(folder), "--pidfile", f"{folder}/pid", "--no-detach", "-d2"]

    def listen(self, target: Node) -> None:
        process = self.start(target)
        await_listening(self, target, process, self.port)

    def leave(self, node: Node) -> None:
        super().leave(node)
        _await_next_second(node)

    def crash(self, node: Node) -> None:
        super().crash(node)
        _await_next_second(node)

    def outer_length(self, inner_length: int) -> int | None:
        """Padding fills a block, and is at least one byte."""
        blocks = (4 + 14 + inner_length) // _BLOCK + 1
        return 20 + 8 + blocks * _BLOCK + _DIGEST


def _await_next_second(node: Node) -> None:
    """Its random numbers are seeded with its node's time in seconds, and a peer drops what it has
    seen."""
    time.sleep(1 - node.realtime_ns() % 1_000_000_000 / 1e9)

"""EasyTier 2: a mesh whose members share a name and a secret; here without discovery and relays.

::

    outer  IP 20 | UDP 8 | connection 4, type 1, 0, length 2 | peers 8, type 1, 7
           | inner IP packet | tag 16, nonce 12

Source: src/tunnel/packet_def.rs and src/peers/encrypt of the crate 2.0.3.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import ClassVar

from culvert.vpns.authoring import (
    DataCipher,
    Node,
    OuterPacket,
    Process,
    TunProgram,
    Variant,
    endpoint,
    underlay_address,
)

_PORT = 11010
_SILENTLY = ("sh", "-c", 'exec "$@" > /dev/null', "sh")
"""It prints its configuration, with the secret; errors and warnings are on standard error."""
_TYPE, _DATA = 4, 3
_PEER_TYPE, _PEER_HANDSHAKE = 16, 2
_CONFIGURATION = """\
instance_name = "culvert"
hostname = "{name}"
ipv4 = "{inner}"
dhcp = false
listeners = {listeners}
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


class EasyTier(TunProgram):
    """Each source connects to the target."""

    name = "easytier"
    summary = "EasyTier, a mesh in user space"
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant(
            "direct",
            "over UDP, with its default cipher",
            {
                "cipher": "AES-128-GCM",
                "key exchange": "none: the key is a hash (SipHash) of the shared secret",
                "transport": f"UDP {_PORT}",
            },
            cipher=DataCipher.AES,
        ),
    )
    role = "easytier"
    program = "easytier-core"
    device, port = "easytier0", _PORT
    overhead = 20 + 8 + 8 + 16 + 28
    up_deadline_s = 20.0

    def configure(self) -> None:
        """One name and secret for all; only the target listens."""
        secret = secrets.token_hex(16)
        there = f"udp://{endpoint(underlay_address(self.target), self.port)}"
        for node in (*self.sources, self.target):
            responds = node.name == self.target.name
            text = _CONFIGURATION.format(
                name=node.name,
                inner=self.inner(node),
                listeners=json.dumps([there] if responds else []),
                peers="" if responds else f'\n[[peer]]\nuri = "{there}"\n',
                secret=secret,
                device=self.device,
                mtu=self.inner_mtu,
            )
            node.write("easytier/config", text, secret=True)

    def arguments(self, node: Node) -> Sequence[str]:
        return ["--config-file", str(node.directory / "easytier/config")]

    def launch(
        self, node: Node, name: str, *arguments: str, env: Mapping[str, str] | None = None
    ) -> Process:
        program = node.require(name, f"culvert install {self.id}")
        return self.start_process(node, [*_SILENTLY, program, *arguments], name, env)

    def leave(self, node: Node) -> None:
        """The target of one source starts anew: a connection that is dead keeps its address for ten
        seconds, and packets for the source are lost there."""
        super().leave(node)
        if self.sources == (node,) and self.processes[self.target.name]:
            self._stop_processes(self.target)
            self.listen(self.target)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """What opens a connection over UDP, and the first messages of peers in it."""
        payload = packet.payload
        if len(payload) <= _TYPE or payload[_TYPE] != _DATA:
            return True
        return len(payload) > _PEER_TYPE and payload[_PEER_TYPE] == _PEER_HANDSHAKE

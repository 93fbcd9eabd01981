"""fastd: tunnels of community mesh networks, in user space, with a choice of methods.

::

    outer  IP 20 | UDP 8 | type 1, flags 1, nonce 6, tag 16 | inner IP packet
"""

from __future__ import annotations

from collections.abc import Sequence

from culvert.vpns.authoring import DataCipher, Node, OuterMessage, OuterPacket, TunProgram, Variant

_PORT = 10000
_HANDSHAKE = b"\x01\x00"
_IN_L2TP = b"\xc8\x03"
"""Since fastd 22 a handshake is also sent as a control message of L2TP."""
_DATA = b"\x00"
_HEADER = 24
_CONFIGURATION = """\
mode tun;
interface "{device}";
mtu {mtu};
method "{method}";
bind {bind};
secret "{secret}";
peer "{peer}" {{
  key "{key}";
{remote}}}
"""


def _variant(name: str, summary: str, method: str, cipher: DataCipher) -> Variant:
    exchange = "ECDH with FHMQV-C, Curve25519"
    facts = {"method": method, "key exchange": exchange, "transport": f"UDP {_PORT}"}
    return Variant(name, summary, facts, cipher=cipher)


class Fastd(TunProgram):
    """A tun device has one peer, so it connects two nodes."""

    name = "fastd"
    summary = "fastd, in user space, for community mesh networks"
    variants = (
        _variant("salsa2012-umac", "its recommended method", "salsa2012+umac", DataCipher.OTHER),
        _variant("aes128-umac", "AES-128 in counter mode", "aes128-ctr+umac", DataCipher.AES),
        _variant("salsa20-poly1305", "as NaCl's box", "salsa20+poly1305", DataCipher.OTHER),
    )
    one_source = ipv6_inside = True
    role = "fastd"
    handshake_trips = 1
    program = "fastd"
    configures_device = False
    restarts_target = True
    """It answers no handshake of a peer within 15 s of the last one."""
    device, port = "fastd0", _PORT
    overhead = 20 + 8 + _HEADER
    up_deadline_s = 40.0
    """After a crash the other end answers again after 15 s, and a handshake is sent every 20 s."""

    def configure(self) -> None:
        """A key pair for each node; only the source knows where the other is."""
        keys = {node.name: self._generate(node) for node in self.ends}
        for node in self.ends:
            (peer,) = self.peers(node)
            text = _CONFIGURATION.format(
                device=self.device,
                mtu=self.inner_mtu,
                method=self.variant.facts["method"],
                bind=self.endpoint(node),
                secret=keys[node.name][0],
                peer=peer.name,
                key=keys[peer.name][1],
                remote="" if node is self.target else f"  remote {self.endpoint(peer)};\n",
            )
            node.write("fastd/config", text, secret=True)

    def arguments(self, node: Node) -> Sequence[str]:
        return ["--config", str(node.directory / "fastd/config")]

    def is_handshake(self, packet: OuterPacket) -> bool:
        return packet.payload.startswith((_HANDSHAKE, _IN_L2TP))

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        """The handshake's records are readable; data of no bytes is a keepalive."""
        return (
            OuterMessage(_HANDSHAKE, least=4),
            OuterMessage(_IN_L2TP, least=16),
            OuterMessage(_DATA, least=_HEADER, noise_from=8),
        )

    def _generate(self, node: Node) -> tuple[str, str]:
        """A secret and its public key, which only fastd computes (its own form of Curve25519)."""
        done = node.run([self._require(node, self.program), "--generate-key"])
        words = {line.split(": ")[0]: line.split(": ")[1] for line in done.stdout.splitlines()}
        return words["Secret"], words["Public"]

"""The protocols of sing-box, in its configuration: a server, and a client of the other end."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Json = Mapping[str, Any]
SERVER, PEER = "server", "peer"
"""Tags of the inbound whose connections lead to this node, and of the outbound to the other."""
NAME = "culvert"
"""In the certificates of both ends."""


class Protocol(StrEnum):
    """The protocols, by sing-box's names."""

    HYSTERIA2 = "hysteria2"
    TUIC = "tuic"
    VLESS = "vless"
    SHADOWTLS = "shadowtls"

    @property
    def over_quic(self) -> bool:
        """Whether it is in QUIC; otherwise it is in TCP."""
        return self in (Protocol.HYSTERIA2, Protocol.TUIC)


_USER = {
    Protocol.HYSTERIA2: ("password",),
    Protocol.TUIC: ("uuid", "password"),
    Protocol.VLESS: ("uuid",),
    Protocol.SHADOWTLS: ("password",),
}


def new_credentials() -> Mapping[str, str]:
    """Of one user, in the forms of all protocols."""
    return {"uuid": str(uuid.uuid4()), "password": secrets.token_hex(16)}


@dataclass(frozen=True)
class Ends:
    """A node's server, and its client of the peer's server; ``files`` is the folder of the node's
    certificate and key, and of the authority's certificate."""

    listen: str
    server: str
    port: int
    files: str
    known: Mapping[str, str]

    def inbounds(self, protocol: Protocol) -> Sequence[Json]:
        """What accepts the peer's connections. ShadowTLS shows the handshake of a TLS server,
        here of one on the node that serves nobody, and carries Shadowsocks."""
        here = {"listen": self.listen, "listen_port": self.port}
        tls = {
            "enabled": True,
            "certificate_path": f"{self.files}/certificate.pem",
            "key_path": f"{self.files}/key.pem",
        }
        users = [self._user(protocol)]
        if protocol is Protocol.SHADOWTLS:
            cover = {"server": "127.0.0.1", "server_port": self.port}
            own = {**here, "version": 3, "users": users, "handshake": cover, "detour": SERVER}
            at = {"listen": cover["server"], "listen_port": self.port}
            return [
                {"type": protocol, "tag": protocol, **own},
                {"type": "shadowsocks", "tag": SERVER, **self._shadowsocks()},
                {"type": "http", "tag": "cover", **at, "tls": tls},
            ]
        return [{"type": protocol, "tag": SERVER, **here, "users": users, "tls": tls}]

    def outbounds(self, protocol: Protocol) -> Sequence[Json]:
        """What connects to the peer."""
        there = {"server": self.server, "server_port": self.port}
        authority = f"{self.files}/authority.pem"
        tls = {"enabled": True, "server_name": NAME, "certificate_path": authority}
        own = {**there, **self._user(protocol), "tls": tls}
        if protocol is Protocol.SHADOWTLS:
            inside = {"detour": protocol, "udp_over_tcp": True, **self._shadowsocks()}
            return [
                {"type": "shadowsocks", "tag": PEER, **there, **inside},
                {"type": protocol, "tag": protocol, **own, "version": 3},
            ]
        return [{"type": protocol, "tag": PEER, **own}]

    def _shadowsocks(self) -> Json:
        """Not that of 2022: sing-shadowsocks2 0.2.1 refuses an answer that comes before the write
        of its request has returned."""
        return {"method": "aes-128-gcm", "password": self.known["password"]}

    def _user(self, protocol: Protocol) -> Json:
        return {name: self.known[name] for name in _USER[protocol]}

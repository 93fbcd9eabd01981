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

    @property
    def over_quic(self) -> bool:
        """Whether it is in QUIC; otherwise it is in TCP."""
        return self in (Protocol.HYSTERIA2, Protocol.TUIC)


_USER = {
    Protocol.HYSTERIA2: ("password",),
    Protocol.TUIC: ("uuid", "password"),
    Protocol.VLESS: ("uuid",),
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
        """What accepts the peer's connections."""
        here = {"listen": self.listen, "listen_port": self.port}
        tls = {
            "enabled": True,
            "certificate_path": f"{self.files}/certificate.pem",
            "key_path": f"{self.files}/key.pem",
        }
        users = [self._user(protocol)]
        return [{"type": protocol, "tag": SERVER, **here, "users": users, "tls": tls}]

    def outbounds(self, protocol: Protocol) -> Sequence[Json]:
        """What connects to the peer."""
        there = {"server": self.server, "server_port": self.port}
        authority = f"{self.files}/authority.pem"
        tls = {"enabled": True, "server_name": NAME, "certificate_path": authority}
        return [{"type": protocol, "tag": PEER, **there, **self._user(protocol), "tls": tls}]

    def _user(self, protocol: Protocol) -> Json:
        return {name: self.known[name] for name in _USER[protocol]}

"""NetBird's daemon on a member: how it starts, and its JSON interface on a unix socket.

Source: client/proto/daemon.proto and client/cmd/service_json_socket.go of NetBird 0.76.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from culvert.topology.ip import Address
from culvert.vpns.authoring import Node
from culvert.vpns.netbird.status import Status
from culvert.vpns.parts.http import request_at_socket

PROGRAM = "netbird"
_SOCKET, _JSON_SOCKET = "/run/netbird.sock", "/run/netbird-json.sock"
ARGUMENTS = (
    *("service", "run", "--log-file", "console", "--enable-json-socket"),
    *("--daemon-addr", f"unix://{_SOCKET}", "--json-socket", f"unix://{_JSON_SOCKET}"),
)


FIREWALL_TABLE = "culvert"
"""Its table of nftables. By default it is ``netbird``, and it removes another NetBird's."""


def environment(member: Node, servers: Iterable[Address], *, relayed: bool) -> Mapping[str, str]:
    """Its settings: WireGuard in user space, no file outside its directory, connections to all
    peers at once; ``relayed``: only through the relay."""
    return {
        "NB_STATE_DIR": f"{member.directory}/netbird/",
        "NB_WG_KERNEL_DISABLED": "true",
        "NB_LAZY_CONN": "off",
        "NB_NFTABLES_TABLE": FIREWALL_TABLE,
        "NB_RELAY_TRANSPORT": "ws",  # QUIC needs TLS
        "NB_DISABLE_NAT_MAPPER": "true",
        "NB_DISABLE_SSH_CONFIG": "true",
        # Neither rules and marks with a name in /etc/iproute2/rt_tables, nor routes to its peers.
        "NB_DISABLE_CUSTOM_ROUTING": "true",
        # It sends requests to the metadata addresses of ten clouds: a proxy refuses them.
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": ",".join(map(str, servers)),
        **({"NB_FORCE_RELAY": "true"} if relayed else {}),
    }


def sweep(member: Node) -> None:
    """Remove the table, which a killed daemon leaves, of IPv4 and IPv6; no error if there is
    none."""
    nft = member.find("nft")
    for family in ("ip", "ip6") if nft else ():
        member.run([str(nft), "delete", "table", family, FIREWALL_TABLE], check=False)


@dataclass(frozen=True)
class Daemon:
    """That of a member. Methods raise OSError if it does not listen, VpnError if it refuses."""

    member: Node
    deadline_s: float

    def configure(self, device: str, port: int, *, ipv6: bool) -> None:
        """Before it joins: Login has the same fields, but ignores them."""
        names = {"profileName": "default", "interfaceName": device, "wireguardPort": port}
        wishes = {"disableAutoConnect": True, "disableDns": True, "disableIpv6": not ipv6}
        self.call("SetConfig", {**names, **wishes})

    def log_in(self, url: str, setup_key: str) -> None:
        """Join the control server's network; the key is needed for the first time only."""
        names = {"managementUrl": url, "setupKey": setup_key, "hostname": self.member.name}
        self.call("Login", names)

    def call(self, method: str, body: Mapping[str, object] | None = None) -> Any:
        """Call a method of its service: Up connects to all peers, Down disconnects."""
        path = f"/daemon.DaemonService/{method}"
        return request_at_socket(
            self.member, _JSON_SOCKET, path, body or {}, deadline_s=self.deadline_s
        )

    def status(self) -> Status:
        """Its servers and peers now."""
        return Status(self.call("Status", {"getFullPeerStatus": True}))

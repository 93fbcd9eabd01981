"""SoftEther: Ethernet frames in one TLS connection.

The server has a virtual hub with a tap device, the client a virtual adapter, which is one too. TCP
inside is carried by TCP: a loss outside delays all that follows, and both retransmit.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from socket import IPPROTO_TCP
from typing import Any

from culvert.topology.ip import IpVersion
from culvert.vpns.authoring import (
    Capability,
    DataCipher,
    Host,
    Lab,
    Node,
    OuterPacket,
    Process,
    TunProgram,
    Variant,
    package_version,
    underlay_address,
)
from culvert.vpns.parts.handshakes import of_tls
from culvert.vpns.parts.pki import Authority, CertificateUsage, Credential, KeyKind
from culvert.vpns.parts.server import await_listening

_PORT = 443
_FACTS = {"cipher": "AES-256-GCM", "key exchange": "TLS 1.3, RSA", "transport": f"TCP {_PORT}"}
_CLIENT, _SERVER = "vpnclient", "vpnserver"
_STATE = "/var/lib/softether"
_FOLDERS = ("/run/softether", "/var/log/softether", _STATE)
"""The programs' own; their paths are compiled in."""
_ON_CLIENT, _ON_SERVER = "vpn_", "tap_"
"""What they put before a device's name."""
_NAME = "culvert"
"""Of the hub, the user and the client's account."""
_BY_CERTIFICATE, _CLIENTS_BY_CERTIFICATE = 2, 3
"""The same login: the server and the client number the kinds differently."""
_RETRIES, _RETRY_S = 2**32 - 1, 5
"""Without an end, and as often as vpncmd permits."""
_ADAPTER = "02-00-00-00-00-01"
"""Its hardware address; the server chooses that of its own device."""
_ESTABLISHED = "VPN Session has been established"


class SoftEther(TunProgram):
    """The source logs in with a certificate, and knows that of the target."""

    name = "softether"
    summary = "SoftEther: Ethernet in a TLS connection"
    variants = (Variant("tls", "one TCP connection", _FACTS, cipher=DataCipher.AES),)
    one_source = ipv6_inside = True
    role = "softether"
    program, server_program = _CLIENT, _SERVER
    configures_device = False
    capabilities = frozenset({Capability.NET_ADMIN, Capability.NET_BIND_SERVICE})
    device, port, transport, overhead = f"{_ON_CLIENT}{_NAME}", _PORT, IPPROTO_TCP, None

    def version(self, host: Host) -> str:
        return package_version(host, "softether-vpnserver") or "unknown"

    def choose(self, lab: Lab) -> None:
        """The programs put a prefix of their own before the name."""
        super().choose(lab)
        self.device = self.device.removeprefix(_ON_CLIENT)

    def device_on(self, node: Node) -> str:
        """The hub's tap device, or the client's adapter."""
        return f"{_ON_SERVER if node.name == self.target.name else _ON_CLIENT}{self.device}"

    def configure(self) -> None:
        """Their own files, before the first start; what is not in them has its usual value."""
        (source,), target = self.sources, self.target
        authority = Authority(KeyKind.RSA_2048)  # no other key logs in
        server = _der(authority.issue(str(underlay_address(target)), CertificateUsage.SERVER))
        client = _der(authority.issue(str(underlay_address(source)), CertificateUsage.CLIENT))
        at_target = self._server(server, client.certificate)
        at_source = self._client(client, server.certificate)
        for node, tree in ((target, at_target), (source, at_source)):
            node.write("softether/config", declared("root", tree), secret=True)
            node.keep_changes("/var/lib", "/var/log")

    def arguments(self, node: Node) -> Sequence[str]:
        del node
        return ["execsvc"]

    def listen(self, target: Node) -> None:
        process = self.start(target)
        await_listening(self, target, process, self.port)

    def is_handshake(self, packet: OuterPacket) -> bool:
        return of_tls(packet.payload)

    def start(self, node: Node) -> Process:
        """Each start has the configuration of the first: a program writes its own state to it. The
        client connects by itself."""
        responds = node.name == self.target.name
        program = _SERVER if responds else _CLIENT
        node.run(["mkdir", "-p", *_FOLDERS])
        config = f"{_STATE}/{program.replace('vpn', 'vpn_')}.config"
        node.run(["install", "-m", "0600", str(node.directory / "softether/config"), config])
        process = super().start(node)
        if not responds:
            what = f"node {node.name} had a session"
            self.await_fact(lambda: _ESTABLISHED in process.log_text(), process, what)
        return process

    def _server(self, own: Credential, user: bytes) -> Mapping[str, Any]:
        """A hub with a tap device and one user; nobody has the password of an administrator."""
        locked = dict.fromkeys(("HashedPassword", "SecurePassword"), secrets.token_bytes(20))
        login = {"AuthType": _BY_CERTIFICATE, "AuthUserCert": user}
        hub = {
            **locked,
            **_set("Online"),
            "Option": _set("DisableUdpAcceleration", "NoArpPolling", "NoIPv6AddrPolling"),
            "SecureNAT": _set("Disabled"),
            "SecurityAccountDatabase": {"UserList": {_NAME: login}},
        }
        bridge = {"DeviceName": self.device, "HubName": _NAME, **_set("TapMode")}
        server = {
            **locked,
            **_set("DisableGetHostNameWhenAcceptTcp", "DisableJsonRpcWebApi"),
            **_set("DisableNatTraversal", *(f"Tls_Disable1_{minor}" for minor in range(3))),
            "CipherName": "TLS_AES_256_GCM_SHA384",
            "DisableIPv6Listener": self.lab.spec.underlay is IpVersion.V4,
            "ListenIP": str(underlay_address(self.target)),
            "PortsUDP": "$",  # none
            "ServerCert": own.certificate,
            "ServerKey": own.key,
        }
        return {
            "DDnsClient": _set("Disabled"),
            "ListenerList": {"Listener0": {"Port": self.port, **_set("Enabled")}},
            "LocalBridgeList": {"LocalBridge0": bridge},
            "ServerConfiguration": server,
            "VirtualHUB": {_NAME: hub},
        }

    def _client(self, own: Credential, known: bytes) -> Mapping[str, Any]:
        """An adapter and an account, which connects at the start."""
        user = {"AuthType": _CLIENTS_BY_CERTIFICATE, "Username": _NAME}
        login = {**user, "ClientCert": own.certificate, "ClientKey": own.key}
        address = f"{underlay_address(self.target)}/tcp"  # not over UDP as well
        options = {
            **{"AccountName": _NAME, "HubName": _NAME, "DeviceName": self.device},
            **{"Hostname": address, "Port": self.port},
            **{"NumRetry": _RETRIES, "RetryInterval": _RETRY_S},
            "MaxConnection": 1,  # QoS has a second one
            **_set("DisableQoS", "NoRoutingTracking", "NoUdpAcceleration", "UseEncrypt"),
        }
        account = {
            **{"ClientAuth": login, "ClientOption": options, "ServerCert": known},
            **_set("CheckServerCert", "StartupAccount"),
        }
        return {
            "AccountDatabase": {"Account0": account},
            "Config": {"UseKeepConnect": False},
            "UnixVLan": {self.device: {"MacAddress": _ADAPTER, **_set("Enabled")}},
        }


def _set(*names: str) -> Mapping[str, bool]:
    return dict.fromkeys(names, True)


def declared(name: str, value: Mapping[str, Any] | bool | int | str | bytes) -> str:
    """A line of a configuration file, or several."""
    match value:
        case Mapping():
            inside = "".join(declared(*each) for each in value.items())
            return f"declare {name}\n{{\n{inside}}}\n"
        case bool():
            kind, text = "bool", str(value).lower()
        case int():
            kind, text = "uint", str(value)
        case bytes():
            kind, text = "byte", base64.b64encode(value).decode()
        case _:
            kind, text = "string", value
    return f"{kind} {name} {text}\n"


def _der(issued: Credential) -> Credential:
    """In DER: PEM without its first line, its last one and base64."""
    return Credential(*(base64.b64decode(b"".join(pem.splitlines()[1:-1])) for pem in issued))

"""What needs no lab: files that the programs read, answers of the local API, packets."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Interface
from pathlib import Path
from typing import cast

import pytest
from cryptography import x509

from culvert.errors import NotPossible, VpnError
from culvert.labs.host import Completed
from culvert.labs.node import Node
from culvert.topology.plan import Attachment
from culvert.vpns.abilities import OPEN, Permit, Policy, Protocol
from culvert.vpns.headscale import control, packet, relay
from culvert.vpns.headscale.control import Control, as_acls
from culvert.vpns.headscale.local_api import LocalApi
from culvert.vpns.headscale.relay import Relay
from culvert.vpns.headscale.variants import Ports
from culvert.vpns.outer import OuterPacket
from culvert.vpns.tundevice import refuse_taken
from culvert.vpns.variant import RouteCount

ADDRESSES = {"a": IPv4Address("100.64.0.1"), "b": IPv4Address("100.64.0.2")}
STATUS = {
    "BackendState": "Running",
    "Health": ["something is slow"],
    "Self": {"Relay": "lab", "TailscaleIPs": ["100.64.0.1", "fd7a:115c:a1e0::1"]},
    "Peer": {
        "nodekey:1": {
            "TailscaleIPs": ["100.64.0.2"],
            "CurAddr": "198.18.1.1:41641",
            "Relay": "lab",
            "LastHandshake": "2026-11-22T04:00:00Z",
        },
        "nodekey:2": {
            "TailscaleIPs": ["100.64.0.3"],
            "CurAddr": "",
            "Relay": "",
            "LastHandshake": "0001-01-01T00:00:00Z",
        },
    },
}
METRICS = """\
# TYPE tailscaled_outbound_packets_total counter
tailscaled_outbound_packets_total{path="derp"} 7
tailscaled_outbound_packets_total{path="direct_ipv4"} 40
tailscaled_outbound_packets_total{path="direct_ipv6"} 2
tailscaled_outbound_packets_total{path="peer_relay_ipv4"} 1
tailscaled_inbound_packets_total{path="derp"} 900
"""


NETWORKS = {"v4": "100.64.0.0/10"}
PORTS = Ports.usual(plain=False)


class FakeNode:
    """Files in a directory, a program whose output is given, and a socket that answers."""

    name = "a"
    addresses, _ip = Node.addresses, Node._ip

    def __init__(self, directory: Path, printed: str = "", code: int = 0) -> None:
        self.directory = directory
        self.underlay = Attachment("u0", IPv4Interface("198.18.3.1/24"))
        self.printed, self.code = printed, code
        self.secrets: set[str] = set()
        self.answers: list[tuple[int, str]] = []
        self.requests: list[str] = []

    def write(self, path: str, text: str | bytes, *, secret: bool = False) -> Path:
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        if secret:
            self.secrets.add(path)
        return target

    def require(self, program: str, remedy: str) -> str:
        return program

    def run(self, argv: list[str], **_: object) -> Completed:
        return Completed(tuple(argv), self.code, self.printed, "no reason" if self.code else "")

    def dial(self, path: str) -> socket.socket:
        near, far = socket.socketpair()
        code, text = self.answers.pop(0)
        threading.Thread(target=self._answer, args=(far, code, text)).start()
        return near

    def _answer(self, far: socket.socket, code: int, text: str) -> None:
        with far, far.makefile("rb") as request:
            self.requests.append(request.readline().decode().rstrip())
            length = 0
            for line in iter(request.readline, b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            request.read(length)  # whole: a close with unread bytes would reset the connection
            head = f"HTTP/1.1 {code} X\r\nContent-Length: {len(text)}\r\n\r\n"
            far.sendall((head + text).encode())


def fake(node: FakeNode) -> Node:
    return cast(Node, node)


def listed_node(made: Relay) -> dict[str, object]:
    """The relay in the map: the text of a region is JSON."""
    head, _, region = made.map(measured=True).partition(f"  {relay.REGION}: ")
    assert head == "regions:\n"
    (node,) = json.loads(region)["nodes"]
    return dict(node)


def test_the_map_pins_the_relays_certificate(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    made = Relay.new(fake(node), tls=True, ports=PORTS)
    made.write()
    listed = listed_node(made)
    pem = (tmp_path / "derper/198.18.3.1.crt").read_text()
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    assert listed["certname"] == f"sha256-raw:{digest}"
    assert (listed["hostname"], listed["derpport"]) == ("198.18.3.1", 8443)
    assert node.secrets == {"derper/198.18.3.1.key"}
    names = x509.load_pem_x509_certificate(pem.encode()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.IPAddress) == [IPv4Address("198.18.3.1")]
    assert "-certmode" in made.arguments


def test_a_relay_that_is_reached_by_ipv6(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    node.underlay = replace(node.underlay, ipv6=IPv6Interface("2001:2:0:3::1/64"))
    made = Relay.new(fake(node), tls=True, ports=PORTS)
    made.write()
    listed = listed_node(made)
    assert (listed["ipv4"], listed["ipv6"]) == ("none", "2001:2:0:3::1")
    assert listed["hostname"] == "[2001:2:0:3::1]"
    assert "[2001:2:0:3::1]:8443" in made.arguments
    assert (tmp_path / "derper/20012031.crt").exists()
    assert Control(fake(node), "24h", NETWORKS, PORTS).url == "http://[2001:2:0:3::1]:8080"


def test_a_plain_relay_has_no_certificate(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    made = Relay.new(fake(node), tls=False, ports=Ports.usual(plain=True))
    made.write()
    listed = listed_node(made)
    assert "certname" not in listed
    assert listed["derpport"] == 3340
    assert not node.secrets
    assert "-certmode" not in made.arguments


def test_a_certificate_of_another_day(tmp_path: Path) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    made = Relay.new(fake(FakeNode(tmp_path)), tls=True, ports=PORTS, now=tomorrow)
    assert made.credential is not None
    certificate = x509.load_pem_x509_certificate(made.credential.certificate)
    assert certificate.not_valid_before_utc > datetime.now(UTC) + timedelta(hours=20)


def test_headscale_listens_in_the_lab_and_requests_nothing_outside(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    Control(fake(node), "24h", NETWORKS, PORTS).write("regions: {}\n")
    settings = json.loads((tmp_path / "headscale/config.yaml").read_text())
    assert settings["listen_addr"] == "198.18.3.1:8080"
    for key in ("metrics_listen_addr", "grpc_listen_addr"):
        assert settings[key].startswith("127.0.0.1:")
    assert settings["derp"]["urls"] == []
    assert settings["disable_check_updates"]
    assert not settings["logtail"]["enabled"]
    assert node.secrets == {"headscale/db.sqlite"}


@pytest.mark.parametrize(
    ("disabled", "families"),
    [(["0", "0"], {"v4", "v6"}), (["0", "1"], {"v4"}), (["0", ""], {"v4"})],
)
def test_members_have_ipv6_where_all_of_them_may(
    tmp_path: Path, disabled: list[str], families: set[str]
) -> None:
    members = [fake(FakeNode(tmp_path, each)) for each in disabled]
    assert control.networks(members).keys() == families


def test_a_command_that_headscale_refuses_is_named(tmp_path: Path) -> None:
    with pytest.raises(VpnError, match="headscale users create: no reason"):
        Control(fake(FakeNode(tmp_path, code=1)), "24h", NETWORKS, PORTS).new_key()


def test_a_key_comes_from_headscales_answer(tmp_path: Path) -> None:
    assert (
        Control(fake(FakeNode(tmp_path, '{"key": "abc"}')), "24h", NETWORKS, PORTS).new_key()
        == "abc"
    )


def test_the_open_policy_permits_everything() -> None:
    (rule,) = json.loads(as_acls(OPEN, ADDRESSES))["acls"]
    assert (rule["src"], rule["dst"]) == (["*"], ["*:*"])


def test_a_policy_permits_by_address_protocol_and_port() -> None:
    policy = Policy((Permit("a", "b", Protocol.TCP, 5), Permit("b", "a", Protocol.ICMP)))
    assert json.loads(as_acls(policy, ADDRESSES))["acls"] == [
        {"action": "accept", "proto": "tcp", "src": ["100.64.0.1/32"], "dst": ["100.64.0.2/32:5"]},
        {"action": "accept", "proto": "icmp", "src": ["100.64.0.2/32"], "dst": ["100.64.0.1/32:*"]},
    ]


def test_a_policy_without_permits_has_no_rules() -> None:
    assert json.loads(as_acls(Policy(), ADDRESSES))["acls"] == []


def test_routes_to_networks_behind_a_member_and_to_everything_are_approved() -> None:
    found = json.loads(as_acls(OPEN, ADDRESSES, [IPv4Network("198.18.9.0/24")]))
    assert found["autoApprovers"] == {
        "routes": {"198.18.9.0/24": ["culvert@"]},
        "exitNode": ["culvert@"],
    }


def test_the_status_of_a_member(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    node.answers = [(200, json.dumps(STATUS))]
    status = LocalApi(fake(node), "/run/x.sock").status()
    assert status.connected
    assert status.addresses == (ADDRESSES["a"],)
    assert status.peers[ADDRESSES["b"]].current_address == "198.18.1.1:41641"
    assert status.described == (
        "state Running; 100.64.0.2: 198.18.1.1:41641; 100.64.0.3: through relay ; something is slow"
    )
    assert node.requests == ["GET /localapi/v0/status HTTP/1.1"]


def test_a_member_without_a_relay_is_not_connected(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    node.answers = [(200, json.dumps({"BackendState": "NeedsLogin", "Self": None}))]
    status = LocalApi(fake(node), "").status()
    assert not status.connected
    assert not status.peers


def test_a_peer_is_known_with_its_relay(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    node.answers = [(200, json.dumps(STATUS))] * 3
    api = LocalApi(fake(node), "")
    assert api.knows(ADDRESSES["b"])
    assert not api.knows(IPv4Address("100.64.0.3"))
    assert not api.knows(IPv4Address("100.64.0.9"))


def test_a_path_that_is_not_direct_is_discovered(tmp_path: Path) -> None:
    relayed = json.loads(json.dumps(STATUS).replace("198.18.1.1:41641", ""))
    node = FakeNode(tmp_path)
    node.answers = [(200, json.dumps(relayed)), (200, "{}"), (200, json.dumps(STATUS))]
    api = LocalApi(fake(node), "")
    assert not api.reaches_directly(ADDRESSES["b"])
    assert node.requests[1] == "POST /localapi/v0/ping?ip=100.64.0.2&type=disco HTTP/1.1"
    assert api.reaches_directly(ADDRESSES["b"])


def test_packets_are_counted_by_their_path(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    node.answers = [(200, METRICS)]
    sent = LocalApi(fake(node), "").sent()
    assert sent == RouteCount(direct=42, relayed=8)
    assert sent.since(RouteCount(40, 8)) == RouteCount(2, 0)


def test_a_request_that_tailscaled_refuses_is_named(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    node.answers = [(403, "access denied")]
    with pytest.raises(VpnError, match="refused PATCH /prefs: access denied"):
        LocalApi(fake(node), "").want(running=False)


def shown(*addresses: str) -> str:
    infos = [
        {"local": text.partition("/")[0], "prefixlen": int(text.partition("/")[2])}
        for text in addresses
    ]
    return json.dumps([{"ifname": "vpn1", "addr_info": infos}])


@pytest.mark.parametrize("address", ["100.64.0.9/32", "100.100.1.1/24", "100.0.0.1/8"])
def test_addresses_that_another_vpn_uses_are_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(NotPossible, match=f"vpn1 has {address}") as caught:
        refuse_taken("x", fake(FakeNode(tmp_path, shown(address))), control.ADDRESSES)
    assert "vpn1" in caught.value.remedy


def test_other_addresses_are_not_refused(tmp_path: Path) -> None:
    others = ("127.0.0.1/8", "198.18.0.1/24", "10.0.0.1/8")
    refuse_taken("x", fake(FakeNode(tmp_path, shown(*others))), control.ADDRESSES)
    one_more = FakeNode(tmp_path, shown(*others, "100.64.0.9/32"))
    with pytest.raises(NotPossible, match="vpn1 has 100"):
        refuse_taken("x", fake(one_more), control.ADDRESSES)


def outer(protocol: int, port: int, payload: bytes) -> OuterPacket:
    return OuterPacket(0, True, protocol, 50000, port, 100, payload)


@pytest.mark.parametrize(
    ("sent", "handshake"),
    [
        (outer(17, PORTS.member, b"\x01\0\0\0"), True),
        (outer(17, PORTS.member, b"TS\xf0\x9f\x92\xac123"), True),
        (outer(17, PORTS.member, b"\x04\0\0\0"), False),
        (outer(17, PORTS.stun, b"\0\1"), True),
        (outer(6, PORTS.control, b"anything"), True),
        (outer(6, 8443, b"\x16\x03\x01"), True),
        (outer(6, 8443, b"\x17\x03\x03"), False),
        (outer(6, 8443, b"GET /derp HTTP/1.1"), True),
        (outer(6, 8443, b"\x04\0\0"), False),
        (outer(6, 8443, b""), False),
    ],
)
def test_handshake_packets_are_recognised(sent: OuterPacket, *, handshake: bool) -> None:
    assert packet.is_handshake(sent, PORTS) is handshake
    assert packet.direct(PORTS, 1280).has(sent)


def test_a_relayed_path_has_nothing_from_member_to_member() -> None:
    data = OuterPacket(0, True, 17, PORTS.member, PORTS.member, 100, b"\x04\0\0\0")
    assert packet.direct(PORTS, 1280).has(data)
    assert not packet.relayed(PORTS).has(data)


def test_a_tailscaled_that_does_not_answer_is_the_vpns_error(tmp_path: Path) -> None:
    class Silent(FakeNode):
        def dial(self, path: str) -> socket.socket:
            raise TimeoutError("timed out")

    api = LocalApi(fake(Silent(tmp_path)), "socket")
    for request in (
        api.peers,
        api.sent,
        lambda: api.want(running=True),
        lambda: api.use_exit(ADDRESSES["b"]),
    ):
        with pytest.raises(VpnError, match="tailscaled on node a: no answer: timed out"):
            request()
    with pytest.raises(OSError, match="timed out"):  # a wait tries again
        api.status()

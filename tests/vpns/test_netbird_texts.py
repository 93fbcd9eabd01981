"""NetBird without its programs: configuration, status, packets, each with damaged input."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import VpnError
from culvert.vpns.abilities import OPEN, Permit, Policy, Protocol
from culvert.vpns.netbird.daemon import PeerPath, Status
from culvert.vpns.netbird.packet import carried, direct
from culvert.vpns.netbird.server import Account, Rules, configuration, relay_environment, url_of
from culvert.vpns.netbird.variants import LEGACY, Ports

from .fake_node import Runs, node_that_prints

CONTROL, RELAY = IPv4Address("198.18.4.2"), IPv4Address("198.18.5.2")
PEER = IPv4Address("100.92.1.2")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def answer(state: str = "Connected", *, relayed: bool = False, **full: Any) -> dict[str, Any]:
    """The daemon's answer, as NetBird 0.76.1 wrote it, less what nobody reads."""
    peer = {
        "IP": str(PEER),
        "connStatus": state,
        "relayed": relayed,
        "relayAddress": "rel://198.18.5.2:33080",
        "lastWireguardHandshake": "2026-11-22T04:00:00Z",
    }
    parts = {
        "managementState": {"connected": True},
        "signalState": {"connected": True},
        "localPeerState": {"IP": "100.92.7.7/16"},
        "relays": [{"available": True}],
        "peers": [peer],
    }
    return {"status": "Connected", "fullStatus": parts | full}


def configured(ports: Ports) -> dict[str, Any]:
    """The control server's settings."""
    text = configuration(CONTROL, RELAY, "s3cret", "/d", ports)
    found = json.loads(text)["server"]
    assert isinstance(found, dict)
    return found


def test_the_configuration_has_one_relay_and_new_secrets() -> None:
    first, second = configured(Ports()), configured(Ports())
    assert first["relays"]["addresses"] == ["rel://198.18.5.2:33080"]
    assert first["relays"]["secret"] == "s3cret"
    assert first["stuns"] == [{"uri": "stun:198.18.5.2:3478"}]
    assert first["exposedAddress"] == "http://198.18.4.2:8080"
    assert first["authSecret"] != second["authSecret"]
    assert first["store"]["encryptionKey"] != second["store"]["encryptionKey"]


def test_each_program_has_the_chosen_ports() -> None:
    ports = Ports(51821, 8081, 33081, 3479, 9091, 9001)
    control = configured(ports)
    assert control["listenAddress"] == ":8081"
    assert control["exposedAddress"] == url_of(CONTROL, ports) == "http://198.18.4.2:8081"
    assert control["auth"]["issuer"] == "http://198.18.4.2:8081/oauth2"
    assert (control["metricsPort"], control["healthcheckAddress"]) == (9091, "127.0.0.1:9001")
    assert control["stuns"] == [{"uri": "stun:198.18.5.2:3479"}]
    assert control["relays"]["addresses"] == ["rel://198.18.5.2:33081"]
    relay = relay_environment(RELAY, "s3cret", ports)
    assert relay["NB_LISTEN_ADDRESS"] == "198.18.5.2:33081"
    assert relay["NB_EXPOSED_ADDRESS"] == "rel://198.18.5.2:33081"
    assert (relay["NB_METRICS_PORT"], relay["NB_STUN_PORTS"]) == ("9091", "3479")
    assert relay["NB_HEALTH_LISTEN_ADDRESS"] == "127.0.0.1:9001"
    members = direct(ports)
    (stun,) = members.also
    (servers,) = stun.also
    assert set(members.ports) == {51821}
    assert set(stun.ports) == {3479}
    assert set(servers.ports) == {8081, 33081, LEGACY}


URL = "http://198.18.4.2:8080"
NETWORK = IPv4Network("198.19.0.0/16")


def test_a_setup_key_is_issued_with_a_token_of_the_setup() -> None:
    runs: Runs = []
    account = {"id": "x1", "settings": {"peer_login_expiration": 7}}
    answers = [{"personal_access_token": "tok"}, [account], {}, {"key": "KEY"}]
    node = node_that_prints(*map(json.dumps, answers), runs=runs)
    made = Account.create(node, URL, NETWORK)
    assert made.new_setup_key() == "KEY"
    assert "tok" not in repr(made)
    assert all('header = "Authorization: Token tok"' in stdin for _, stdin in runs[1:])
    network = runs[2][1].splitlines()
    assert f'url = "{URL}/api/accounts/x1"' in network
    assert 'request = "PUT"' in network
    assert "198.19.0.0/16" in runs[2][1]
    assert "peer_login_expiration" in runs[2][1]  # the other settings stay


@pytest.mark.parametrize("made", ["{}", "[]", '{"personal_access_token": 1}', "null"])
def test_a_server_that_issues_no_token_is_named(made: str) -> None:
    with pytest.raises(VpnError, match="has no personal_access_token"):
        Account.create(node_that_prints(made), URL, NETWORK)


@pytest.mark.parametrize("accounts", ["[]", "{}", "null", '[{"id": "1"}]', '["x"]'])
def test_a_server_without_an_account_is_named(accounts: str) -> None:
    node = node_that_prints('{"personal_access_token": "t"}', accounts)
    with pytest.raises(VpnError, match="its answer has no account"):
        Account.create(node, URL, NETWORK)


ADDRESSES = {"a": IPv4Address("198.19.0.1"), "b": IPv4Address("198.19.0.2")}
ACCOUNT: tuple[Any, ...] = (
    [{"id": "p0", "name": "Default"}],
    [{"id": "g0", "name": "All"}],
    [{"id": "pa", "ip": "198.19.0.1"}, {"id": "pb", "ip": "198.19.0.2"}],
    {"id": "ga"},
    {"id": "gb"},
    {},
)


def put_by(policy: Policy) -> dict[str, Any]:
    """The body with which a policy replaces the account's."""
    runs: Runs = []
    node = node_that_prints(*map(json.dumps, ACCOUNT), runs=runs)
    Rules(Account(node, URL, "tok"), ADDRESSES).apply(policy)
    lines = runs[-1][1].splitlines()
    assert f'url = "{URL}/api/policies/p0"' in lines
    assert 'request = "PUT"' in lines
    (data,) = (line for line in lines if line.startswith("data-raw"))
    body = json.loads(json.loads(data.partition(" = ")[2]))
    assert isinstance(body, dict)
    return body


def test_a_permit_is_a_rule_from_one_group_to_another() -> None:
    permits = (Permit("a", "b", Protocol.TCP, 5201), Permit("b", "a", Protocol.ICMP))
    body = put_by(Policy(permits))
    assert (body["name"], body["enabled"]) == ("Default", True)
    tcp, icmp = body["rules"]
    assert (tcp["sources"], tcp["destinations"], tcp["ports"]) == (["ga"], ["gb"], ["5201"])
    assert (tcp["protocol"], tcp["bidirectional"], tcp["action"]) == ("tcp", False, "accept")
    assert (icmp["sources"], icmp["destinations"], icmp["protocol"]) == (["gb"], ["ga"], "icmp")
    assert "ports" not in icmp


@pytest.mark.parametrize(("policy", "enabled"), [(OPEN, True), (Policy(), False)])
def test_everything_is_one_rule_and_nothing_is_a_disabled_policy(
    policy: Policy, *, enabled: bool
) -> None:
    body = put_by(policy)
    assert body["enabled"] is enabled
    (rule,) = body["rules"]
    assert (rule["sources"], rule["destinations"], rule["protocol"]) == (["g0"], ["g0"], "all")


def test_a_member_that_the_server_does_not_know_is_named() -> None:
    node = node_that_prints(*map(json.dumps, ([{"id": "p0", "name": "Default"}], [], [])))
    with pytest.raises(VpnError, match=r"no peer 198\.19\.0\.1 \(node a\)"):
        Rules(Account(node, URL, "tok"), ADDRESSES)


@pytest.mark.parametrize(
    ("state", "relayed", "expected"),
    [
        ("Connected", False, PeerPath.DIRECT),
        ("Connected", True, PeerPath.RELAYED),
        ("Connecting", True, PeerPath.NONE),
        ("Idle", False, PeerPath.NONE),
    ],
)
def test_a_relays_address_does_not_make_a_path_relayed(
    state: str, relayed: bool, expected: PeerPath
) -> None:
    status = Status(answer(state, relayed=relayed))
    assert status.connection(PEER) is expected
    assert status.connection(IPv4Address("100.92.9.9")) is PeerPath.NONE


def test_a_member_without_udp_is_connected_without_stun() -> None:
    stun = {"available": False, "URI": "stun:198.18.5.2:3478"}
    relay = {"available": True, "URI": "rel://198.18.5.2:33080"}
    assert Status(answer(relays=[stun, relay])).address is not None
    assert Status(answer(relays=[stun])).address is None


def test_a_member_has_an_address_once_every_server_is_connected() -> None:
    assert Status(answer()).address == IPv4Interface("100.92.7.7/16")
    partly: tuple[dict[str, Any], ...] = (
        {"managementState": {"connected": False}},
        {"signalState": {"connected": False}},
        {"relays": []},
        {"relays": [{"available": True}, {"available": False}]},
        {"localPeerState": {"IP": ""}},
    )
    for lacking in partly:
        assert Status(answer(**lacking)).address is None
    shown = str(Status(answer(signalState={"connected": False})))
    assert "signal not connected" in shown
    assert "1 of 1 relays" in shown


@given(JSON | st.builds(lambda inner: {"fullStatus": inner}, JSON))
def test_a_damaged_status_is_an_error_with_the_place(damaged: object) -> None:
    with pytest.raises(VpnError, match="NetBird's status"):
        Status(damaged)


@pytest.mark.parametrize(
    "full", [{"peers": [{"IP": "x"}]}, {"localPeerState": {"IP": "1.2.3"}}, {"relays": None}]
)
def test_a_damaged_part_is_named(full: dict[str, Any]) -> None:
    with pytest.raises(VpnError, match=next(iter(full))):
        Status(answer(**full))


def frame(packet: bytes, *, key: bytes | None, kind: bytes = b"\x01\x03") -> bytes:
    """As RFC 6455 has it."""
    message = kind + bytes(36) + packet
    short = len(message) < 126
    size = bytes([len(message)]) if short else b"\x7e" + len(message).to_bytes(2)
    if key is None:
        return b"\x82" + size + message
    masked = bytes(byte ^ key[at % 4] for at, byte in enumerate(message))
    return b"\x82" + bytes([size[0] | 0x80]) + size[1:] + key + masked


@given(st.binary(min_size=1, max_size=200), st.none() | st.binary(min_size=4, max_size=4))
def test_a_frame_gives_its_packet(packet: bytes, key: bytes | None) -> None:
    assert carried(frame(packet, key=key)) == packet
    assert carried(frame(packet, key=key, kind=b"\x01\x05")) == b""


@given(st.binary(max_size=80))
def test_any_segment_can_be_searched(segment: bytes) -> None:
    assert len(carried(segment)) <= len(segment)
    assert len(carried(b"\x82" + segment)) <= len(segment)

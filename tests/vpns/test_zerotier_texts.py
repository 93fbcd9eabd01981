"""ZeroTier without its programs: identities, planet, settings, status, packets."""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import VpnError
from culvert.vpns.abilities import OPEN, Permit, Policy, Protocol
from culvert.vpns.zerotier import packet, status, world
from culvert.vpns.zerotier.controller import rules
from culvert.vpns.zerotier.world import Identity

from .test_netbird_texts import JSON

SECRET = "0123456789:0:aabb:ccdd\n"
NETWORK = "0123456789000001"
RELAY = IPv4Address("198.18.5.2")


def peers(*paths: dict[str, Any]) -> str:
    """As ZeroTier 1.14.1 prints them, less what nobody reads."""
    leaf = {"address": "aaaaaaaaaa", "role": "LEAF", "tunneled": False, "paths": list(paths)}
    return json.dumps([leaf])


def path(address: str, *, active: bool = True, preferred: bool = True) -> dict[str, Any]:
    return {"active": active, "preferred": preferred, "expired": False, "address": address}


def test_an_identity_has_an_address_a_public_part_and_a_network() -> None:
    identity = Identity.parse(SECRET)
    assert (identity.address, identity.public) == ("0123456789", "0123456789:0:aabb")
    assert identity.network == NETWORK
    assert "ccdd" not in identity.public


@pytest.mark.parametrize("printed", ["", "0123456789:0:aabb", "1:0:a:b", "0123456789:0::b", "x\n"])
def test_a_text_that_is_no_identity_is_an_error(printed: str) -> None:
    with pytest.raises(VpnError, match="no identity"):
        Identity.parse(printed)


def test_a_planet_has_the_root_of_the_moon_at_one_address() -> None:
    moon = {"worldType": "moon", "id": "1", "roots": [{"identity": "i", "stableEndpoints": []}]}
    made = json.loads(world.planet(json.dumps(moon), RELAY, 9994))
    assert made["worldType"] == "planet"
    assert made["roots"] == [{"identity": "i", "stableEndpoints": ["198.18.5.2/9994"]}]
    assert f"{made['id']}.moon" == world.PLANET_FILE


@given(JSON)
def test_a_moon_of_another_form_is_an_error(moon: object) -> None:
    with pytest.raises(VpnError, match="no moon"):
        world.planet(json.dumps(moon), RELAY, 9993)


def test_settings_of_each_variant() -> None:
    direct = json.loads(world.local_conf())
    assert direct["virtual"] == {}
    assert direct["settings"]["allowTcpFallbackRelay"] is False
    assert "forceTcpRelay" not in direct["settings"]
    assert direct["settings"]["primaryPort"] == 9993
    assert json.loads(world.local_conf(9994))["settings"]["primaryPort"] == 9994
    relayed = json.loads(world.local_conf(no_path_to=["aaaaaaaaaa"]))
    everywhere = ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"]
    assert relayed["virtual"] == {"aaaaaaaaaa": {"blacklist": everywhere}}
    tcp = json.loads(world.local_conf(tcp_relay=(RELAY, 443)))["settings"]
    assert (tcp["forceTcpRelay"], tcp["tcpFallbackRelay"]) == (True, "198.18.5.2/443")


def test_only_a_preferred_active_path_is_one() -> None:
    assert status.endpoint(peers(), "aaaaaaaaaa") is None
    for unused in ({"active": False}, {"preferred": False}):
        assert status.endpoint(peers(path("198.18.1.2/9993", **unused)), "aaaaaaaaaa") is None
    used = peers(path("198.18.5.2/9993", preferred=False), path("198.18.1.2/9993"))
    assert str(status.endpoint(used, "aaaaaaaaaa")) == "198.18.1.2"
    with pytest.raises(VpnError, match="not connected"):
        status.endpoint(used, "bbbbbbbbbb")
    with pytest.raises(VpnError, match="not an endpoint"):
        status.endpoint(peers(path("nowhere")), "aaaaaaaaaa")


def test_addresses_count_once_the_controller_admitted_the_member() -> None:
    def networks(state: str) -> str:
        one = {"id": NETWORK, "status": state, "assignedAddresses": ["198.19.0.1/24"]}
        return json.dumps([one])

    assert status.assigned(networks("OK"), NETWORK) == {"198.19.0.1/24"}
    assert status.assigned(networks("REQUESTING_CONFIGURATION"), NETWORK) == frozenset()
    assert status.assigned(networks("OK"), "f" * 16) == frozenset()
    assert status.network_status(networks("ACCESS_DENIED"), NETWORK) == "ACCESS_DENIED"
    assert status.network_status("[]", NETWORK) == "not joined"


@given(st.text(max_size=20) | JSON.map(json.dumps))
def test_output_of_another_form_is_an_error(printed: str) -> None:
    for read in (status.node_state, lambda text: status.endpoint(text, "aaaaaaaaaa")):
        with pytest.raises(VpnError):
            read(printed)
    if printed.strip() != "[]":
        with pytest.raises(VpnError, match="zerotier-cli"):
            status.assigned(printed, NETWORK)


def zerotier_packet(*, cipher: int, size: int) -> bytes:
    """With a header of zeroes."""
    return bytes(18) + bytes([cipher << 3]) + bytes(size - 19)


def test_hello_is_not_encrypted_and_its_answer_has_one_length() -> None:
    assert packet.is_handshake(zerotier_packet(cipher=0, size=137), 137)
    assert packet.is_handshake(zerotier_packet(cipher=3, size=59), 59)
    assert not packet.is_handshake(zerotier_packet(cipher=3, size=102), 102)
    fragment = bytes(13) + b"\xff" + bytes(50)
    assert not packet.is_handshake(fragment, len(fragment))


def test_a_record_gives_its_packet() -> None:
    inner = zerotier_packet(cipher=0, size=100)
    record = b"\x17\x03\x03" + (107).to_bytes(2) + b"\x04" + bytes(6) + inner
    assert packet.in_record(record) == (inner, 100)
    assert packet.in_record(inner) == (b"", 0)


@given(st.binary(max_size=70), st.integers(0, 1500))
def test_any_packet_can_be_looked_at(payload: bytes, length: int) -> None:
    assert len(payload) > 18 or not packet.is_handshake(payload, length)
    found, _ = packet.in_record(b"\x17\x03\x03" + payload)
    assert found in payload


def test_the_largest_packet_is_neither_split_nor_fragmented() -> None:
    assert packet.largest_inner(1500) == 1394
    assert packet.outer_length(packet.largest_inner(1500)) == 1460
    assert packet.outer_length(packet.largest_inner(1400)) == 1400


ADDRESSES = {"a": IPv4Address("198.19.0.1"), "b": IPv4Address("198.19.0.2")}


def groups(policy: Policy) -> list[tuple[str, set[str]]]:
    """The action of each group of rules, and what a packet must be for it."""
    found: list[tuple[str, set[str]]] = []
    wanted: set[str] = set()
    for rule in rules(policy, ADDRESSES):
        kind = str(rule["type"])
        if kind.startswith("ACTION"):
            found.append((kind, wanted))
            wanted = set()
        else:
            wanted.add(" ".join(str(each) for key, each in rule.items() if each is not None))
    assert wanted == set()
    return found


def test_everything_is_accepted_by_one_rule() -> None:
    assert groups(OPEN) == [("ACTION_ACCEPT", set())]


def test_nothing_but_arp_passes_without_a_permit() -> None:
    arp = {f"MATCH_ETHERTYPE {0x0806}"}
    assert groups(Policy()) == [("ACTION_ACCEPT", arp), ("ACTION_DROP", set())]


@pytest.mark.parametrize(
    ("permit", "there", "back"),
    [
        (
            Permit("a", "b", Protocol.TCP, 80),
            {"MATCH_IP_PROTOCOL 6", "MATCH_IP_DEST_PORT_RANGE 80 80"},
            {
                "MATCH_IP_PROTOCOL 6",
                "MATCH_IP_SOURCE_PORT_RANGE 80 80",
                "MATCH_CHARACTERISTICS 0000000000000010",
            },
        ),
        (
            Permit("a", "b", Protocol.UDP, 53),
            {"MATCH_IP_PROTOCOL 17", "MATCH_IP_DEST_PORT_RANGE 53 53"},
            {"MATCH_IP_PROTOCOL 17", "MATCH_IP_SOURCE_PORT_RANGE 53 53"},
        ),
        (Permit("a", "b", Protocol.ICMP), {"MATCH_ICMP 8"}, {"MATCH_ICMP 0"}),
    ],
)
def test_a_permit_is_a_rule_for_the_request_and_one_for_its_answer(
    permit: Permit, there: set[str], back: set[str]
) -> None:
    request = {"MATCH_IPV4_SOURCE 198.19.0.1/32", "MATCH_IPV4_DEST 198.19.0.2/32", *there}
    answer = {"MATCH_IPV4_SOURCE 198.19.0.2/32", "MATCH_IPV4_DEST 198.19.0.1/32", *back}
    accepted = [("ACTION_ACCEPT", request), ("ACTION_ACCEPT", answer)]
    assert groups(Policy((permit,)))[1:-1] == accepted

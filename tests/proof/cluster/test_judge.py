"""Encrypted, clear, or not leaving the node."""

from __future__ import annotations

from random import Random

import pytest

from culvert.probe.results import Captured
from culvert.proof.cluster.carrier import Encapsulation, encapsulation_of, entropy
from culvert.proof.cluster.judge import Protection, Verdict, checks, verdict
from culvert.proof.cluster.seen import Marked, Seen, between
from culvert.vpns.outer import OuterPacket

MARKED = Marked(40, 40, 1028)
WIREGUARD = "04000000"
VXLAN = "0800000000001000"


def recorded(length: int, payload: str, port: int, *, outgoing: bool = True) -> dict[str, object]:
    return {
        "realtime_ns": 1, "outgoing": outgoing, "protocol": 17, "source_port": 40000,
        "destination_port": port, "length": length, "payload": payload,
    }  # fmt: skip


def captured(
    packets: list[dict[str, object]],
    *,
    hits: int = 0,
    bits: float = 7.99,
    unrecorded: int = 0,
    drops: int = 0,
) -> Captured:
    matching = {"in": {}, "out": {"packets": len(packets) + unrecorded}}
    return Captured.model_validate(
        {
            "packets": len(packets), "bytes": 0, "matching": matching, "other": {},
            "kernel_drops": drops, "canary_hits": hits,
            "canary_example": "UDP 1 > 2" if hits else None,
            "randomness": {"bytes": 50_000, "bits_per_byte": bits}, "recorded": packets,
        }
    )  # fmt: skip


def judged(
    payload: str, port: int, length: int, *, hits: int = 0, bits: float = 7.99, count: int = 40
) -> Verdict:
    packets = [recorded(length, payload, port) for _ in range(count)]
    noise = [recorded(1400, "17", 443, outgoing=False)]
    seen = [
        Seen(node, "eth0", captured([*packets, *noise], hits=hits, bits=bits))
        for node in ("a", "b")
    ]
    return verdict("pod to pod", MARKED, seen, source="a", target="b")


def test_wireguard_without_a_canary_is_encrypted_and_reconciles() -> None:
    found = judged(WIREGUARD, 51820, 1136)
    assert (found.wire, found.encapsulation, found.reconciled) == (
        Protection.ENCRYPTED,
        "WireGuard",
        True,
    )
    assert all(check.passed for check in checks(found, encrypted=True))
    assert "+108" in found.text()


def test_the_devices_that_were_captured_are_named() -> None:
    first = checks(judged(WIREGUARD, 51820, 1136), encrypted=True)[0]
    assert first.detail.endswith("; captured on eth0 of a, eth0 of b")
    assert first.figures["captured_on"] == ["eth0 of a", "eth0 of b"]


def test_what_is_no_stream_is_not_counted_as_one() -> None:
    pings = [recorded(84, "00", 0) | {"protocol": 1} for _ in range(40 * 1028 // 84 + 1)]
    seen = [Seen(node, "eth0", captured(pings)) for node in ("a", "b")]
    found = verdict("pod to pod", MARKED, seen, source="a", target="b")
    assert found.wire is Protection.UNSEEN
    own = judged("00", 0, 1136)
    assert own.encapsulation == "UDP of another kind"
    in_own_protocol = [recorded(1136, "00", 0) | {"protocol": 115} for _ in range(40)]
    seen = [Seen(node, "eth0", captured(in_own_protocol)) for node in ("a", "b")]
    found = verdict("pod to pod", MARKED, seen, source="a", target="b")
    assert (found.encapsulation, found.reconciled) == ("another protocol", True)


def in_streams(length: int, count: int) -> Verdict:
    """Through a relay over TCP, whose segments are not the packets."""
    packets = [recorded(length, "17030300", 443) | {"protocol": 6} for _ in range(count)]
    other = [recorded(1200, "00", 9999) for _ in range(3)]
    seen = [Seen(node, "eth0", captured([*packets, *other])) for node in ("a", "b")]
    return verdict("pod to pod", MARKED, seen, source="a", target="b")


def test_a_stream_has_room_for_all_packets() -> None:
    found = in_streams(2900, 16)
    assert (found.wire, found.encapsulation, found.reconciled) == (
        Protection.ENCRYPTED,
        "TCP",
        True,
    )
    assert "TCP (a stream of 46400 bytes)" in found.text()
    assert not in_streams(100, 16).reconciled


def test_a_canary_in_vxlan_is_clear_with_the_traffic_named() -> None:
    found = judged(VXLAN, 4789, 1078, hits=80, bits=5.0)
    assert (found.wire, found.encapsulation) == (Protection.CLEAR, "VXLAN")
    first = next(check for check in checks(found, encrypted=True) if not check.passed)
    assert first.name == "encrypted between the nodes (pod to pod)"
    assert "eth0 of a" in first.detail
    assert all(check.passed for check in checks(found, encrypted=False))


def test_bytes_that_are_not_random_are_clear() -> None:
    assert judged(VXLAN, 4789, 1078, bits=5.0).wire is Protection.CLEAR


def test_packets_that_no_interface_shows_are_not_proved() -> None:
    found = judged(WIREGUARD, 51820, 300)
    assert found.wire is Protection.UNSEEN
    assert not any(check.passed for check in checks(found, encrypted=True))


def test_too_few_packets_do_not_reconcile() -> None:
    found = judged(WIREGUARD, 51820, 1136, count=20)
    assert found.wire is Protection.ENCRYPTED
    assert [check.passed for check in checks(found, encrypted=True)] == [True, False]


@pytest.mark.parametrize(
    ("count", "agrees"), [(38, True), (40, True), (42, True), (43, False), (80, False)]
)
def test_more_packets_than_were_sent_do_not_reconcile(count: int, agrees: bool) -> None:
    found = judged(WIREGUARD, 51820, 1136, count=count)
    assert found.wire is Protection.ENCRYPTED
    assert found.reconciled is agrees
    assert [check.passed for check in checks(found, encrypted=True)] == [True, agrees]


NOISE = [recorded(1448, WIREGUARD, 51820) for _ in range(2000)]


def with_noise(
    packets: list[dict[str, object]], *, unrecorded: int = 0, drops: int = 0, hits: int = 0
) -> Verdict:
    carried = captured([*NOISE, *packets], unrecorded=unrecorded, drops=drops, hits=hits)
    seen = [Seen(node, "eth0", carried) for node in ("a", "b")]
    return verdict("pod to pod", MARKED, seen, source="a", target="b")


def test_of_2000_other_packets_the_carriers_are_those_in_the_number_of_the_marked() -> None:
    found = with_noise([recorded(1136, WIREGUARD, 51820) for _ in range(40)])
    assert [(one.length, one.packets) for one in found.carriers] == [(1136, 40), (1136, 40)]
    assert found.wire is Protection.ENCRYPTED


def test_packets_that_were_not_recorded_are_not_known_to_be_encrypted() -> None:
    found = with_noise([], unrecorded=500)
    assert found.wire is Protection.UNKNOWN
    made = checks(found, encrypted=True)
    assert not any(check.passed for check in made)
    assert "only the first 2000 of 2500 packets on eth0 of a were recorded" in made[0].detail
    assert not any(check.passed for check in checks(found, encrypted=False))


def test_packets_that_the_capture_dropped_are_not_known_to_be_encrypted() -> None:
    found = with_noise([recorded(1136, WIREGUARD, 51820) for _ in range(40)], drops=3)
    assert found.wire is Protection.UNKNOWN
    assert "not known, 3 packets on eth0 of a were not captured" in found.text()
    one = [Seen("a", "eth0", captured([], drops=1))]
    there = verdict("pod to pod on one node", MARKED, one, source="a", target="a")
    assert there.wire is Protection.UNKNOWN


def test_a_canary_among_packets_that_were_not_recorded_is_clear() -> None:
    assert with_noise([], unrecorded=500, drops=3, hits=1).wire is Protection.CLEAR


def test_the_entropy_is_that_of_the_carriers_and_not_of_others() -> None:
    """Other traffic that is random hides no carrier that is not."""
    encoded = [recorded(1136, "0102" * 128, 51820) for _ in range(40)]
    found = with_noise(encoded)
    assert found.bits_per_byte == 1.0
    assert found.wire is Protection.CLEAR


def test_the_entropy_of_random_bytes_and_of_too_few() -> None:
    payloads = [Random(number).randbytes(256) for number in range(40)]
    assert 7.9 < (entropy(payloads) or 0.0) < 8.0
    assert entropy(payloads[:10]) is None


def test_packets_of_pods_own_addresses_are_carried_by_nothing_and_clear() -> None:
    found = judged("00" * 32, 5000, MARKED.length, hits=40, bits=5.0)
    assert (found.wire, found.encapsulation) == (Protection.CLEAR, "no encapsulation")


def test_packets_of_translated_addresses_are_recognised_at_both_ends() -> None:
    """Their ports may differ there; what only one of both nodes has is another's."""

    def payload(number: int, way: int) -> str:
        return WIREGUARD + f"{way:08x}{number:08x}" * 8

    def ways(there: int, back: int, port: int) -> Captured:
        sent = [recorded(1136, payload(number, there), port) for number in range(40)]
        got = [recorded(1136, payload(number, back), port, outgoing=False) for number in range(40)]
        return captured([*NOISE, *sent, *got])

    seen = [Seen("a", "eth0", ways(1, 2, 51820)), Seen("b", "eth0", ways(2, 1, 1024))]
    matched = between(seen, "a", "b")
    assert [len(one.captured.recorded) for one in matched] == [80, 80]
    assert verdict("x", MARKED, matched, source="a", target="b").wire is Protection.ENCRYPTED
    lonely = between([seen[0], Seen("b", "eth0", captured(NOISE))], "a", "b")
    assert verdict("x", MARKED, lonely, source="a", target="b").wire is Protection.UNSEEN


def test_one_node_is_not_left() -> None:
    found = verdict("pod to pod on one node", MARKED, [], source="a", target="a")
    assert found.wire is Protection.NOT_LEAVING
    assert all(check.passed for check in checks(found, encrypted=True))


def test_kinds_of_packets() -> None:
    def packet(protocol: int, port: int = 0, payload: bytes = b"") -> OuterPacket:
        return OuterPacket(0, True, protocol, 1, port, 1100, payload)

    assert encapsulation_of(packet(4)) is Encapsulation.IPIP
    assert encapsulation_of(packet(50)) is Encapsulation.ESP
    assert encapsulation_of(packet(47)) is Encapsulation.GRE
    assert encapsulation_of(packet(6, 443)) is Encapsulation.TCP
    assert encapsulation_of(packet(17, 8472, b"\x08\0\0\0")) is Encapsulation.VXLAN
    assert encapsulation_of(packet(17, 4789, b"\0\0\0\0")) is Encapsulation.UDP
    assert encapsulation_of(packet(17, 6081)) is Encapsulation.GENEVE
    assert encapsulation_of(packet(17, 4500, b"\1")) is Encapsulation.ESP_IN_UDP
    assert encapsulation_of(packet(17, 51871, bytes([4, 0, 0, 0]))) is Encapsulation.WIREGUARD

"""Encrypted, clear, or not leaving the node."""

from __future__ import annotations

from culvert.probe.results import Captured
from culvert.proof.cluster import encapsulation
from culvert.proof.cluster.encapsulation import Encapsulation
from culvert.proof.cluster.judge import Marked, Seen, Verdict, Wire, checks, verdict
from culvert.vpns.outer import OuterPacket

MARKED = Marked(40, 40, 1028)
WIREGUARD = "04000000"
VXLAN = "0800000000001000"


def recorded(length: int, payload: str, port: int, *, outgoing: bool = True) -> dict[str, object]:
    return {
        "realtime_ns": 1, "outgoing": outgoing, "protocol": 17, "source_port": 40000,
        "destination_port": port, "length": length, "payload": payload,
    }  # fmt: skip


def captured(packets: list[dict[str, object]], *, hits: int = 0, bits: float = 7.99) -> Captured:
    return Captured.model_validate(
        {
            "packets": len(packets), "bytes": 0, "matching": {"in": {}}, "other": {},
            "canary_hits": hits, "canary_example": "UDP 1 > 2" if hits else None,
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
        Wire.ENCRYPTED,
        "WireGuard",
        True,
    )
    assert all(check.passed for check in checks(found, encrypted=True))
    assert "+108" in found.text()


def test_the_devices_that_were_captured_are_named() -> None:
    first = checks(judged(WIREGUARD, 51820, 1136), encrypted=True)[0]
    assert first.detail.endswith("; captured on eth0 of a, eth0 of b")
    assert first.figures["captured_on"] == ["eth0 of a", "eth0 of b"]


def in_streams(length: int, count: int) -> Verdict:
    """Through a relay over TCP, whose segments are not the packets."""
    packets = [recorded(length, "17030300", 443) | {"protocol": 6} for _ in range(count)]
    other = [recorded(1200, "00", 9999) for _ in range(3)]
    seen = [Seen(node, "eth0", captured([*packets, *other])) for node in ("a", "b")]
    return verdict("pod to pod", MARKED, seen, source="a", target="b")


def test_a_stream_has_room_for_all_packets() -> None:
    found = in_streams(2900, 16)
    assert (found.wire, found.encapsulation, found.reconciled) == (Wire.ENCRYPTED, "TCP", True)
    assert "TCP (a stream of 46400 bytes)" in found.text()
    assert not in_streams(100, 16).reconciled


def test_a_canary_in_vxlan_is_clear_with_the_traffic_named() -> None:
    found = judged(VXLAN, 4789, 1078, hits=80, bits=5.0)
    assert (found.wire, found.encapsulation) == (Wire.CLEAR, "VXLAN")
    first = next(check for check in checks(found, encrypted=True) if not check.passed)
    assert first.name == "encrypted between the nodes (pod to pod)"
    assert "eth0 of a" in first.detail
    assert all(check.passed for check in checks(found, encrypted=False))


def test_bytes_that_are_not_random_are_clear() -> None:
    assert judged(VXLAN, 4789, 1078, bits=5.0).wire is Wire.CLEAR


def test_packets_that_no_interface_shows_are_not_proved() -> None:
    found = judged(WIREGUARD, 51820, 300)
    assert found.wire is Wire.UNSEEN
    assert not any(check.passed for check in checks(found, encrypted=True))


def test_too_few_packets_do_not_reconcile() -> None:
    found = judged(WIREGUARD, 51820, 1136, count=20)
    assert found.wire is Wire.ENCRYPTED
    assert [check.passed for check in checks(found, encrypted=True)] == [True, False]


def test_one_node_is_not_left() -> None:
    found = verdict("pod to pod on one node", MARKED, [], source="a", target="a")
    assert found.wire is Wire.NOT_LEAVING
    assert all(check.passed for check in checks(found, encrypted=True))


def test_kinds_of_packets() -> None:
    def packet(protocol: int, port: int = 0, payload: bytes = b"") -> OuterPacket:
        return OuterPacket(0, True, protocol, 1, port, 1100, payload)

    assert encapsulation.of(packet(4)) is Encapsulation.IPIP
    assert encapsulation.of(packet(50)) is Encapsulation.ESP
    assert encapsulation.of(packet(47)) is Encapsulation.GRE
    assert encapsulation.of(packet(6, 443)) is Encapsulation.TCP
    assert encapsulation.of(packet(17, 8472, b"\x08\0\0\0")) is Encapsulation.VXLAN
    assert encapsulation.of(packet(17, 4789, b"\0\0\0\0")) is Encapsulation.UDP
    assert encapsulation.of(packet(17, 6081)) is Encapsulation.GENEVE
    assert encapsulation.of(packet(17, 4500, b"\1")) is Encapsulation.ESP_IN_UDP
    assert encapsulation.of(packet(17, 51871, bytes([4, 0, 0, 0]))) is Encapsulation.WIREGUARD

import pytest

from culvert.probe.results import Captured
from culvert.proof.capture import ENTROPY_BITS, judge_capture, judge_silence, readable_inside
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.outer import OuterFlow
from culvert.vpns.wireguard.driver import WireGuard
from tests.vpns.tunnels import planned


@pytest.fixture
def tunnel() -> Vpn:
    return registry.create(registry.parse("vxlan/plain"))


@pytest.fixture
def baseline() -> Vpn:
    return registry.create(registry.parse("none"))


def captured(**changes: object) -> Captured:
    answer: dict[str, object] = {
        "packets": 100,
        "bytes": 140_000,
        "matching": {"out": {"packets": 50, "bytes": 70_000}, "in": {"packets": 50, "bytes": 7}},
        "other": {"packets": 0, "bytes": 0, "examples": []},
        "fragments": 0,
        "canary_hits": 0,
        "canary_example": None,
        "randomness": {"bytes": 100_000, "bits_per_byte": 7.99, "chi2": 255.0},
    }
    return Captured.model_validate({**answer, **changes})


def failures(vpn: Vpn, **changes: object) -> list[str]:
    return [
        check.name
        for check in judge_capture(vpn, captured(**changes), "canary")
        if not check.passed
    ]


def test_ciphertext_of_the_tunnel_passes(tunnel: Vpn) -> None:
    assert failures(tunnel) == []


def test_a_check_says_who_has_seen_the_packets_and_how_many_were_not_captured(tunnel: Vpn) -> None:
    checks = judge_capture(tunnel, captured(seen_by="captured on node b", kernel_drops=5), "canary")
    lost = "(5 more were not captured)"
    assert checks[0].detail == f"100 of 100 packets captured on node b {lost} are of the tunnel"


def test_packets_that_nothing_has_searched_fail(tunnel: Vpn) -> None:
    seen = captured(kernel_drops=5)
    (failed,) = [one for one in judge_capture(tunnel, seen, "canary") if not one.passed]
    assert failed.name == "no clear text on the underlay (canary)"
    assert failed.detail == "the canary was in 0 of 100 packets captured (5 more were not captured)"
    assert "fewer other programs" in failed.remedy


def test_a_readable_canary_fails(tunnel: Vpn) -> None:
    assert failures(tunnel, canary_hits=1) == ["no clear text on the underlay (canary)"]


def test_a_packet_beside_the_tunnel_fails(tunnel: Vpn) -> None:
    other = {"packets": 1, "bytes": 84, "examples": ["198.18.0.1 > 198.18.0.2 icmp"]}
    assert failures(tunnel, other=other) == ["nothing beside the tunnel (canary)"]


def test_an_error_about_the_tunnels_own_packets_is_not_beside_it(tunnel: Vpn) -> None:
    refused = {"packets": 3, "bytes": 400}
    assert failures(tunnel, about_flow=refused) == []
    assert failures(tunnel, about_flow=refused, canary_hits=1) == [
        "no clear text on the underlay (canary)"
    ]


def test_no_packet_of_the_tunnel_fails(tunnel: Vpn) -> None:
    assert failures(tunnel, matching={}) == ["the tunnel's packets are on the underlay (canary)"]


def test_structure_in_the_payload_fails(tunnel: Vpn) -> None:
    randomness = {"bytes": 100_000, "bits_per_byte": 5.0}
    assert failures(tunnel, randomness=randomness) == ["payload looks encrypted (canary)"]


def test_headers_between_small_packets_are_no_structure(tunnel: Vpn) -> None:
    randomness = {"bytes": 100_000, "bits_per_byte": 7.7}
    assert failures(tunnel, randomness=randomness) == []
    strict = judge_capture(tunnel, captured(randomness=randomness), "x", entropy_bits=ENTROPY_BITS)
    assert [check.passed for check in strict] == [True, True, True, False, True, True]


def test_too_few_bytes_say_nothing_about_randomness(tunnel: Vpn) -> None:
    assert failures(tunnel, randomness={"bytes": 100, "bits_per_byte": 5.0}) == []


def test_the_baseline_must_show_its_canary(baseline: Vpn) -> None:
    assert failures(baseline, canary_hits=40) == []
    assert failures(baseline) == ["clear text is seen without a VPN (canary)"]


def test_clear_text_is_expected_of_what_protects_integrity_only() -> None:
    ah = registry.create(registry.parse("strongswan/ah-sha256+kernel"))
    structure = {"bytes": 100_000, "bits_per_byte": 5.0}
    assert failures(ah, canary_hits=50, randomness=structure) == []
    other = {"packets": 1, "bytes": 84, "examples": ["198.18.0.1 > 198.18.0.2 icmp"]}
    assert failures(ah, other=other) == ["nothing beside the tunnel (canary)"]
    assert failures(ah, matching={}) == ["the tunnel's packets are on the underlay (canary)"]
    assert readable_inside(captured(canary_hits=50)).passed
    assert not readable_inside(captured()).passed


def doubtful(packets: int, payload: bytes = b"plain", *, kept: int = 100) -> dict[str, object]:
    one: dict[str, object] = {"realtime_ns": 1, "outgoing": True, "protocol": 17, "length": 1028}
    one |= {"source_port": 5, "destination_port": 51820, "payload": payload.hex()}
    return {"packets": packets, "recorded": [one] * min(packets, kept)}


@pytest.fixture
def wireguard() -> Vpn:
    return planned("wireguard/go")


def test_a_packet_that_is_no_message_of_the_vpn_fails_and_is_shown(wireguard: Vpn) -> None:
    name = "each packet is a message of the VPN (canary)"
    assert failures(wireguard, strangers=doubtful(1)) == [name]
    judged = judge_capture(wireguard, captured(strangers=doubtful(47)), "canary")
    (check,) = (each for each in judged if each.name == name)
    assert check.detail == (
        "47 of 100 packets of the tunnel's flow (such as one of 1028 bytes, ports 5 and 51820, "
        "payload 706c61696e...) are not messages of wireguard"
    )


def test_a_packet_with_structure_fails(wireguard: Vpn, tunnel: Vpn) -> None:
    for vpn in (wireguard, tunnel):
        assert failures(vpn, structured=doubtful(1)) == ["each packet looks encrypted (canary)"]
    silence = judge_silence(tunnel, captured(structured=doubtful(1)), "canary")
    assert [check.passed for check in silence] == [True, True, False, True]


def test_readable_messages_of_a_handshake_are_few_beside_a_load(wireguard: Vpn) -> None:
    def passed(count: int, searched: int = 100, most: int | None = 40) -> bool:
        search = {"packets": searched, "least_bytes": 16}
        seen = captured(readable=doubtful(count), searched=search)
        judged = judge_capture(wireguard, seen, "x", readable=most)
        return all(check.passed for check in judged)

    assert passed(45)
    assert not passed(46)
    assert passed(46, most=None), "where the tunnel connects often"
    assert passed(9, searched=1000)
    assert not passed(10, searched=1000), "a tenth was captured"
    ten_seconds = captured(readable=doubtful(85), seconds=10.0)
    assert all(each.passed for each in judge_capture(wireguard, ten_seconds, "x", readable=40))


def test_packets_corrupted_as_requested_are_no_strangers(wireguard: Vpn) -> None:
    def passed(count: int) -> bool:
        seen = captured(strangers=doubtful(count))
        judged = (
            judge_capture(wireguard, seen, "x", corruption=0.1),
            judge_silence(wireguard, seen, "x", corruption=0.1),
        )
        return all(each.passed for checks in judged for each in checks)

    assert passed(23)  # twice a tenth of 100 packets, and 3
    assert not passed(24)


def test_a_handshake_may_have_clear_text_where_no_messages_are_declared(wireguard: Vpn) -> None:
    initiation = b"\x01\0\0\0 in clear text"

    class Undeclared(WireGuard):
        @property
        def outer_flow(self) -> OuterFlow:
            return OuterFlow(17, frozenset({self.port}))

    undeclared = Undeclared(WireGuard.variants[0])
    assert failures(undeclared, structured=doubtful(9, initiation)) == []
    name = ["each packet looks encrypted (canary)"]
    assert failures(undeclared, structured=doubtful(9, b"\x04\0\0\0 in clear text")) == name
    assert failures(undeclared, structured=doubtful(9, initiation, kept=8)) == name
    assert failures(wireguard, structured=doubtful(9, initiation)) == name


def common(**changes: object) -> dict[str, object]:
    return {"packets": 100, "columns": 1400, **changes}


def test_packets_that_share_bytes_fail(wireguard: Vpn) -> None:
    name = "packets have nothing in common (canary)"
    data = b"\4\0\0\0 of a session"
    shared = common(sharing=doubtful(1, data))
    assert failures(wireguard, in_common=common()) == []
    assert failures(wireguard, in_common=shared) == [name]
    judged = judge_capture(wireguard, captured(in_common=shared), "canary")
    (check,) = (each for each in judged if each.name == name)
    assert check.detail.startswith("1 of 100 packets of the tunnel's flow (such as one of 1028")
    assert failures(wireguard, in_common=common(structured=[7, 8])) == [name]


def test_packets_repeated_as_requested_may_share_bytes(wireguard: Vpn) -> None:
    def passed(count: int) -> bool:
        seen = captured(in_common=common(sharing=doubtful(count, b"\4\0\0\0")))
        return all(each.passed for each in judge_capture(wireguard, seen, "x", duplication=0.1))

    assert passed(23)
    assert not passed(24)


def test_a_handshake_may_repeat_its_messages_and_counts_as_one(wireguard: Vpn) -> None:
    def failed(count: int) -> list[str]:
        shared = common(sharing=doubtful(count, b"\1\0\0\0 again"))
        seen = captured(in_common=shared)
        judged = judge_capture(wireguard, seen, "x", readable=40)
        return [each.name for each in judged if not each.passed]

    assert failed(45) == []
    assert failed(46) == ["few packets of a handshake (x)"]


def test_an_inner_header_in_clear_text_fails(tunnel: Vpn) -> None:
    found = {"packets": 3, "example": "udp 5>6"}
    assert failures(tunnel, inner_ends=found) == ["no clear text on the underlay (canary)"]
    (check, *_) = (
        each
        for each in judge_capture(tunnel, captured(inner_ends=found), "canary")
        if not each.passed
    )
    assert check.detail == "an inner header was readable in 3 packets, such as udp 5>6"

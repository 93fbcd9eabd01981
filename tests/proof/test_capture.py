import pytest

from culvert.probe.results import Captured
from culvert.proof.capture import ENTROPY_BITS, judge_capture, readable_inside
from culvert.vpns import registry
from culvert.vpns.base import Vpn


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


def test_a_check_says_who_has_seen_the_packets_and_what_was_not_kept(tunnel: Vpn) -> None:
    seen = captured(seen_by="recorded by the wire", kernel_drops=5)
    told = judge_capture(tunnel, seen, "canary")[0].detail
    lost = "(5 more were not recorded)"
    assert told == f"100 of 100 packets recorded by the wire {lost} are of the tunnel"


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
    assert [check.passed for check in strict] == [True, True, True, False]


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

"""What a claim's test means, and what is said of one that cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.results import Parameters
from culvert.study.claims.language import ClaimTestError, parse_claim_test
from culvert.study.claims.names import StudyNames
from culvert.study.claims.test import (
    BestOf,
    ClaimComparison,
    ClaimTest,
    Quantity,
    Relation,
    VpnSide,
    Where,
)
from culvert.study.parameters import Requested
from tests.study.dummies import CATALOGUE

WG, OVPN, SWAN = "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm"
NAMES = StudyNames(
    {word: word for word in ("none", WG, OVPN, SWAN)},
    ["clean", "lossy"],
    [
        Requested("udp", Parameters('{"duration":"2s","packet_size":64,"rate":null}')),
        Requested("udp", Parameters('{"duration":"2s","packet_size":"max","rate":null}')),
        Requested("rtt", Parameters('{"percentiles":[50.0],"probes":1000,"rate":"1000/s"}')),
        Requested("k8s_api", Parameters('{"requests":5000}')),
    ],
    CATALOGUE,
)


def read(text: str) -> ClaimTest:
    return parse_claim_test(text, NAMES)


def one(text: str) -> ClaimComparison:
    (comparison,) = read(f"udp.goodput_bps: {text}").comparisons
    return comparison


def side(vpn: str, where: Where = Where()) -> VpnSide:  # noqa: B008 - frozen
    return VpnSide(vpn, where)


def test_a_direction_with_filters() -> None:
    test = read(f"udp.goodput_bps[packet_size=64, condition=clean, label.node=a]: {SWAN} > {WG}")
    where = Where("clean", (("packet_size", "64"),), (("node", "a"),))
    assert (test.measurement, test.metric, test.unit) == ("udp", "goodput_bps", "bit/s")
    assert test.comparisons == (ClaimComparison(side(SWAN, where), Relation.MORE, side(WG, where)),)


def test_a_sides_own_filters_override() -> None:
    test = read(f"udp.goodput_bps[packet_size=64,condition=clean]: {WG}[condition=lossy] < {WG}")
    (found,) = test.comparisons
    assert found.left == side(WG, Where("lossy", (("packet_size", "64"),)))
    assert found.right == side(WG, Where("clean", (("packet_size", "64"),)))


@pytest.mark.parametrize(
    ("text", "relation", "factor", "share"),
    [
        (f"{WG} > {OVPN}", Relation.MORE, 1.0, 0.0),
        (f"{WG}<{OVPN}", Relation.LESS, 1.0, 0.0),
        (f"{WG} >= 1.5 x {OVPN}", Relation.AT_LEAST, 1.5, 0.0),
        (f"{WG} <= 0.5x {OVPN}", Relation.AT_MOST, 0.5, 0.0),
        (f"{WG} within 5% of {OVPN}", Relation.WITHIN, 1.0, 0.05),
        (f"{WG} no different from {OVPN}", Relation.SAME, 1.0, 0.0),
    ],
)
def test_relations_are_parsed_and_printed_alike(
    text: str, relation: Relation, factor: float, share: float
) -> None:
    found = one(text)
    assert found == ClaimComparison(side(WG), relation, side(OVPN), factor=factor, share=share)
    assert one(str(found)) == found


def test_a_difference_has_the_unit_of_the_metric() -> None:
    assert one(f"{WG} > {OVPN} by 10Mbit/s").by == Quantity(1e7, "10 Mbit/s")
    assert one(f"{WG} < {OVPN} by 0.5 Gbit/s").by == Quantity(5e8, "0.5 Gbit/s")


def test_quantities_are_read_with_their_units() -> None:
    assert one(f"{WG} > 300Mbit/s").right == Quantity(3e8, "300 Mbit/s")
    assert one(f"10 kbit/s < {WG}").left == Quantity(1e4, "10 kbit/s")
    (loss,) = read(f"udp.loss_ratio: {WG} < 5%").comparisons
    assert loss.right == Quantity(0.05, "5%")
    (rtt,) = read(f"rtt.rtt_p50_us: {WG} > none by 1.5ms and {WG} < 1s").comparisons[:1]
    assert rtt.by == Quantity(1500.0, "1.5 ms")


def test_all_and_each_are_one_comparison_each() -> None:
    test = read(f"udp.goodput_bps: {WG} > all")
    assert [str(found) for found in test.comparisons] == [f"{WG} > {OVPN}", f"{WG} > {SWAN}"]
    test = read(f"udp.goodput_bps: {WG} < each of none, {SWAN}[condition=lossy] and none > {WG}")
    assert [found.right for found in test.comparisons] == [
        side("none"),
        side(SWAN, Where("lossy")),
        side(WG),
    ]


def test_the_best_of_several() -> None:
    found = one(f"best of {OVPN}, {SWAN} > {WG}")
    assert found.left == BestOf((side(OVPN), side(SWAN)))
    assert [vpn.vpn for vpn in read(f"udp.goodput_bps: {found}").vpns] == [OVPN, SWAN, WG]


def test_values_are_read_as_the_measurement_does() -> None:
    (found,) = read(f"udp.goodput_bps[duration=2000ms, packet_size=max]: {WG} > none").comparisons
    assert found.left == side(WG, Where(None, (("duration", '"2s"'), ("packet_size", '"max"'))))


def test_a_lacking_measurement_has_any_metric() -> None:
    test = read(f"k8s_api.response_mean_ms[requests=5000]: {WG} < 10ms")
    assert test.unit == ""
    assert test.comparisons[0].right == Quantity(10.0, "10 ms")


@pytest.mark.parametrize(
    ("text", "column", "why", "remedy"),
    [
        ("", 1, "a measurement is missing", "udp.goodput_bps"),
        ("upd.goodput_bps: a > b", 1, 'no measurement "upd"', '"udp"?'),
        ("udp.godput_bps: a > b", 1, 'no metric "godput_bps"', 'did you mean "goodput_bps"'),
        ("udp goodput_bps: a > b", 5, '"." is missing', "udp.goodput_bps"),
        (f"udp.goodput_bps {WG} > none", 17, '":" is missing', "A > B"),
        ("udp.goodput_bps: wireguard > none", 18, 'no VPN "wireguard"', '"wireguard/go"?'),
        (f"udp.goodput_bps: {WG} > nine", 33, 'no VPN "nine"', '"none"?'),
        (f"udp.goodput_bps: {WG}", 30, "a relation is missing", '">"'),
        (f"udp.goodput_bps: {WG} = none", 31, "a relation is missing", '">"'),
        (f"udp.goodput_bps: {WG} >", 32, "a VPN is missing", "wireguard/go"),
        (f"udp.goodput_bps: {WG} >= none", 34, "a factor is missing", ">= 1.5 x B"),
        (f"udp.goodput_bps: {WG} >= 2 none", 36, '"x" is missing', ">= 1.5 x B"),
        (f"udp.goodput_bps: {WG} >= 0 x none", 34, "more than 0", "1.5"),
        (f"udp.goodput_bps: {WG} within 5 of none", 38, "a share is missing", "5%"),
        (f"udp.goodput_bps: {WG} within 500% of none", 38, "more than the whole", "100%"),
        (f"udp.goodput_bps: {WG} > none none", 38, "follows the end", '"and"'),
        (f"udp.goodput_bps: {WG} > 5ms", 33, '"ms" cannot be converted to bit/s', "Mbit/s"),
        (f"udp.goodput_bps: {WG} > 5", 33, "without a unit cannot be converted to bit/s", "Mbit/s"),
        (f"udp.goodput_bps: {WG} > {WG}", 18, "both sides are the same", "something else"),
        ("udp.goodput_bps: 1bit/s < 2bit/s", 18, "both sides are quantities", "VPN"),
        (f"udp.goodput_bps: best of {WG}, none > all", 45, "one VPN", "left"),
        (f"udp.goodput_bps[condition=cleen]: {WG} > none", 27, 'no condition "cleen"', '"clean"?'),
        (f"udp.goodput_bps[size=64]: {WG} > none", 17, 'no parameter "size"', "packet_size"),
        (f"udp.goodput_bps[packet_size=65]: {WG} > none", 17, "packet_size = 65", '64, "max"'),
        (f"udp.goodput_bps[packet_size]: {WG} > none", 28, '"=" is missing', "packet_size=64"),
        (f"udp.goodput_bps[packet_size=64[: {WG} > none", 31, '"]" is missing', "packet_size=64"),
    ],
)
def test_a_mistake_is_pointed_at(text: str, column: int, why: str, remedy: str) -> None:
    with pytest.raises(ClaimTestError) as caught:
        read(text)
    assert why in caught.value.why
    assert remedy in caught.value.remedy
    assert caught.value.column == column


PIECES = st.sampled_from(
    f"udp . goodput_bps : [ ] = , and x by of best of each of all > < >= <= within 5% 1.5 "
    f"10Mbit/s no different from condition clean packet_size 64 {WG} {OVPN} none".split()
)


@given(
    st.lists(PIECES, max_size=14).map(lambda words: "udp.goodput_bps: " + " ".join(words))
    | st.text(max_size=30)
)
def test_any_text_is_a_test_or_a_mistake(text: str) -> None:
    try:
        outcome: object = read(text).comparisons
    except ClaimTestError as error:
        outcome = 1 <= error.column <= len(text) + 1 and error.why and error.remedy
    assert outcome

"""Trials whose VPN is interrupted from outside give no figure; what is left alone counts."""

from __future__ import annotations

import pytest

from culvert.proof.interference import INSTRUMENTS_LEFT_ALONE, LEFT_ALONE
from culvert.results import Status
from tests.here import HERE
from tests.run.cells import vpn
from tests.trial import interruptions as do
from tests.trial.interruptions import Interruption, assert_invalid, trial

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
GO, OPENVPN = "wireguard/go", "openvpn/aes-256-gcm"


@pytest.fixture(autouse=True)
def _installed() -> None:
    for word in (GO, OPENVPN):
        if missing := vpn(word).missing(HERE):
            pytest.skip(f"{word}: {missing[0].what} is missing; {missing[0].remedy}")


@pytest.mark.parametrize("kind", do.LOADS)
def test_a_short_stop_is_no_figure_of_the_vpn(kind: str) -> None:
    assert_invalid(trial(GO, kind, do.stop(0.05)), "wireguard-go", "on node b was stopped")


@pytest.mark.parametrize("kind", do.LOADS)
def test_nor_a_longer_one_of_another_vpn(kind: str) -> None:
    assert_invalid(trial(OPENVPN, kind, do.stop(0.2), after_s=1.0), "on node b was stopped")


@pytest.mark.long
@pytest.mark.parametrize("kind", do.LOADS)
@pytest.mark.parametrize("word", [GO, OPENVPN])
@pytest.mark.parametrize("seconds", [0.05, 0.2, 3.0])
@pytest.mark.parametrize("after_s", [0.05, 1.2])
def test_stops_of_each_length_at_each_moment(
    kind: str, word: str, seconds: float, after_s: float
) -> None:
    # One that lasts beyond the load may be noticed by what it breaks.
    finding = trial(word, kind, do.stop(seconds), after_s)
    assert finding.status in (Status.INVALID, Status.FAILED)
    if seconds < 1:
        assert_invalid(finding, "was stopped")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        pytest.param(do.trace, ["was stopped (SIGSTOP or a tracer)"], id="ptrace"),
        pytest.param(do.starve, ["got no processor from the quota", "/strangers-"], id="quota"),
        pytest.param(
            do.starve_threads, ["got no processor from the quota", "/strangers-"], id="threads"
        ),
        pytest.param(do.freeze_1, ["was frozen with", "/strangers-"], id="freezer, version 1"),
        pytest.param(do.freeze_2, ["was frozen with", "/strangers-"], id="freezer, version 2"),
        pytest.param(do.down(0.003), ["wg0 on node b was down"], id="down for 3 ms"),
        pytest.param(do.down(0.3), ["wg0 on node b was down"], id="down for 300 ms"),
        pytest.param(do.no_carrier, ["wg0 on node b had no carrier"], id="carrier"),
        pytest.param(do.smaller_mtu, ["another MTU (1200 instead of 1420)"], id="MTU"),
        pytest.param(do.no_address, ["wg0 on node b lacked its address 198."], id="address"),
        pytest.param(do.no_route, ["other routes", "removed"], id="route"),
        pytest.param(do.black_hole, ["other routes", "/32 added"], id="black hole"),
        pytest.param(
            *(do.other_hardware_address, ["(hardware address 02:00:00:00:00:99 instead of "]),
            id="hardware address",
        ),
        pytest.param(do.no_arp, ["(ARP false instead of true)"], id="ARP"),
        pytest.param(do.other_queue, ["wg0 on node b had another queue (pfifo)"], id="queue"),
    ],
)
def test_whatever_is_done_to_it_is_named(act: Interruption, words: list[str]) -> None:
    assert_invalid(trial(GO, "rtt", act), *words)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (do.stop(0.2), "was stopped (SIGSTOP or a tracer)"),
        (do.down(0.3), "was down"),
        (do.no_route, "had other routes"),
    ],
)
@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_nor_is_the_sending_end_spared(kind: str, act: Interruption, words: str) -> None:
    assert_invalid(trial(GO, kind, do.at_the_source(act)), "node a", words)


@pytest.mark.parametrize("kind", ["tcp", "udp"])
@pytest.mark.parametrize(
    ("act", "words"), [(do.stop_probe, "probe (process "), (do.stop_link, "culvert-wire (process ")]
)
def test_nor_are_figures_whose_instrument_was_stopped(
    kind: str, act: Interruption, words: str
) -> None:
    found = trial(GO, kind, act, make_lab=do.over_a_wire)
    assert_invalid(found, words, "stopped and continued", check=INSTRUMENTS_LEFT_ALONE)


@pytest.mark.parametrize("word", [GO, OPENVPN])
def test_a_vpn_that_is_left_alone_counts(word: str) -> None:
    finding = trial(word, "tcp", do.nothing)
    assert (finding.status, finding.reason) == (Status.OK, "")
    (check,) = [check for check in finding.evidence.checks if check.name == LEFT_ALONE]
    assert check.detail.startswith("2 processes")
    assert "not observed" not in check.detail
    assert {node["processes"] for node in check.figures.values()} == {1}


@pytest.mark.long
@pytest.mark.parametrize("kind", do.LOADS)
def test_nor_is_a_busy_machine_an_interruption(kind: str) -> None:
    with do.busy_loops(4):
        for _ in range(7):
            finding = trial(GO, kind, do.nothing)
            checks = [check for check in finding.evidence.checks if check.name == LEFT_ALONE]
            assert checks
            assert all(check.passed for check in checks)

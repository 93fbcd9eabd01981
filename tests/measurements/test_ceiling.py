"""The instrument's own limit, beside the tunnel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from culvert.measurements.ceiling import udp_ceiling
from culvert.measurements.streams.udp_stream import UdpStream
from culvert.measurements.udp.udp import Udp, UdpParameters
from culvert.proof.limits import GENERATOR, RECEIVER
from culvert.topology.link.spec import LinkSpec
from culvert.trial.outcome import Outcome
from culvert.vpns.none import NoVpn
from tests.measurements.fakes import Tunnel, asked, session

SENT = {"packets": 15_000, "bytes": 540_000, "seconds": 0.15}
STREAM = UdpStream("198.19.0.2", (64,), 10.0, rate_pps=5.0)
SUNK: dict[str, object] = {
    "packets": 14_000,
    "bytes": 504_000,
    "first_ns": 0,
    "last_ns": 140_000_000,
    "forwarded": {"packets": 14_000, "bytes": 504_000, "seconds": 0.15},
}


def test_rates_on_the_bare_link() -> None:
    made = session({"udp_source": SENT}, {"udp_sink": SUNK})
    ceiling = udp_ceiling(made, STREAM, "none")
    assert ceiling.sent_pps == pytest.approx(100_000)
    assert ceiling.received_pps == pytest.approx(14_000 / 0.15)
    given = asked(made.a, "udp_source")
    assert given["to"] == "198.18.0.2"  # the underlay, not the tunnel
    assert given["segmentation"] == "none"  # as in the tunnel
    assert given["rate_pps"] is None


@pytest.mark.parametrize(
    ("rate_bps", "by_link"),
    [(None, False), (62_400_000, True), (68_000_000, True), (10**7, False), (10**8, False)],
)
def test_a_link_that_holds_the_sender_back_is_told(rate_bps: int | None, *, by_link: bool) -> None:
    """100,000 packets of 64 bytes a second, in frames of 78 bytes, are 62.4 Mbit/s."""
    made = session({"udp_source": SENT}, {"udp_sink": SUNK})
    made.link = replace(LinkSpec(), rate_bps=rate_bps)
    assert udp_ceiling(made, STREAM, "none").by_link is by_link


def test_behind_a_firewall_nothing_arrives_and_the_sender_counts_all_the_same() -> None:
    nothing = {"packets": 0, "bytes": 0}
    made = session({"udp_source": SENT, "echo_once": {"answered": False}}, {"udp_sink": nothing})
    ceiling = udp_ceiling(made, STREAM, "none")
    assert ceiling.sent_pps == pytest.approx(100_000)
    assert ceiling.received_pps == 0


@pytest.mark.parametrize(
    ("parameters", "arrived", "drops", "doubts"),
    [
        ({}, 15_000, 0, {GENERATOR}),  # all that the generator can do came through
        ({}, 9_000, 0, set()),  # the tunnel is the limit
        ({}, 9_000, 6_000, {RECEIVER, GENERATOR}),  # the tunnel carried all, the socket did not
        ({"rate": "200000/s"}, 15_000, 0, {GENERATOR}),  # it fell behind at its own ceiling
    ],
)
def test_a_udp_trial_at_the_instruments_limit_is_doubted(
    parameters: dict[str, object], arrived: int, drops: int, doubts: set[str]
) -> None:
    sent = {**SENT, **({"scheduled": 30_000} if parameters else {})}
    outcome, names = udp_outcome(parameters, sent, arrived, drops)
    failed = [check for check in outcome.doubts if not check.passed]
    assert {check.name for check in failed} == doubts
    assert all(check.remedy for check in failed)
    assert {"ceiling_sent_pps", "ceiling_received_pps"} <= names


def test_a_generator_that_keeps_its_schedule_does_not_flood_the_link() -> None:
    parameters: dict[str, object] = {"rate": "100000/s"}
    outcome, names = udp_outcome(parameters, {**SENT, "scheduled": 15_000}, 15_000, 0)
    assert all(check.passed for check in outcome.doubts)
    assert not {"ceiling_sent_pps", "ceiling_received_pps"} & names


def udp_outcome(
    parameters: Mapping[str, object], sent: Mapping[str, object], arrived: int, drops: int
) -> tuple[Outcome, set[str]]:
    """Of a trial with these counts, and the names of its metrics."""
    sunk = SUNK | {"packets": arrived, "bytes": 36 * arrived, "socket_drops": drops}
    made = session({"udp_source": sent}, {"udp_sink": sunk}, vpn=Tunnel(NoVpn.variants[0]))
    outcome = Udp().run(made, UdpParameters.model_validate({"packet_size": 64, **parameters}))
    return outcome, {metric.name for metric in outcome.metrics}

"""The instrument's own limit, beside the tunnel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from culvert.labs.base import LinkSpec
from culvert.measurements.ceiling import udp_ceiling
from tests.measurements.fakes import asked, session

SENT = {"packets": 15_000, "bytes": 540_000, "seconds": 0.15}
SUNK = {"packets": 14_000, "bytes": 504_000, "first_ns": 0, "last_ns": 140_000_000}


def test_rates_on_the_bare_link() -> None:
    made = session({"udp_source": SENT}, {"udp_sink": SUNK})
    ceiling = udp_ceiling(made, 64, "none")
    assert ceiling.sent_pps == pytest.approx(100_000)
    assert ceiling.received_pps == pytest.approx(100_000)
    given = asked(made.a, "udp_source")
    assert given["to"] == "198.18.0.2"  # the underlay, not the tunnel
    assert given["segmentation"] == "none"  # as in the tunnel


@pytest.mark.parametrize(
    ("rate_bps", "by_link"), [(None, False), (51_200_000, True), (10**7, False)]
)
def test_a_link_that_holds_the_sender_back_is_told(rate_bps: int | None, *, by_link: bool) -> None:
    made = session({"udp_source": SENT}, {"udp_sink": SUNK})
    made.link = replace(LinkSpec(), rate_bps=rate_bps)
    assert udp_ceiling(made, 64, "none").by_link is by_link


def test_behind_a_firewall_nothing_arrives_and_the_sender_counts_all_the_same() -> None:
    nothing = {"packets": 0, "bytes": 0}
    made = session({"udp_source": SENT, "echo_once": {"answered": False}}, {"udp_sink": nothing})
    ceiling = udp_ceiling(made, 64, "none")
    assert ceiling.sent_pps == pytest.approx(100_000)
    assert ceiling.received_pps == 0

"""How many packets are looked at: of slow links enough to prove something."""

from __future__ import annotations

import pytest

from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.presets import PRESETS
from culvert.topology.link.spec import LinkSpec
from culvert.trial.outside import one_in


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (LinkSpec(), 64),
        (LinkSpec(rate_bps=1_000_000_000), 64),
        (LinkSpec(rate_bps=20_000_000), 16),
        (LinkSpec(kind="wire", rate_bps=1_000), 1),
        (LinkSpec(kind="wire", impairment=PRESETS["dsl"]), 1),
        (LinkSpec(kind="wire", impairment=Impairment(b_to_a=OneWay(rate_bps=12_000_000))), 10),
    ],
)
def test_slow_links_are_looked_at_more_closely(link: LinkSpec, expected: int) -> None:
    assert one_in(64, link) == expected


def test_all_packets_stay_all() -> None:
    assert one_in(1, LinkSpec(rate_bps=1_000_000_000)) == 1

"""The bound that a sweep of marked packets states."""

from __future__ import annotations

import pytest

from culvert.probe.results import Captured
from culvert.proof.cluster.seen import Seen
from culvert.run.pods.sweep import BURSTS, EACH, Swept


def swept(there: int, back: int, *, hits: int = 0, drops: int = 0) -> Swept:
    captured = Captured.model_validate(
        {"packets": 9000, "bytes": 0, "matching": {"in": {}}, "other": {},
         "canary_hits": hits, "kernel_drops": drops}
    )  # fmt: skip
    return Swept(there, back, 60, [Seen("a", "eth0", captured)])


@pytest.mark.parametrize(("packets", "one_in"), [(6000, 2003), (3000, 1001), (100, 33), (1, 1)])
def test_a_leak_of_that_share_is_missed_with_five_per_cent(packets: int, one_in: int) -> None:
    found = swept(packets, packets)
    assert found.one_in == one_in
    assert (1 - 1 / (one_in + 1)) ** packets >= 0.05
    if one_in > 1:
        assert (1 - 1 / one_in) ** packets <= 0.05  # of a larger share less


def test_the_direction_with_fewer_packets_counts() -> None:
    assert swept(6000, 3000).one_in == swept(3000, 6000).one_in == 1001
    assert "one packet in 1001 each way" in swept(6000, 3000).text


def test_a_whole_sweep_states_one_in_two_thousand() -> None:
    assert swept(BURSTS * EACH, BURSTS * EACH).one_in >= 2000


def test_readable_and_missed_packets_fail() -> None:
    assert swept(6000, 6000).check("pod to pod").passed
    assert "readable in 1 packets on eth0 of a" in swept(6000, 6000, hits=1).check("x").detail
    assert not swept(6000, 6000, hits=1).check("x").passed
    assert not swept(6000, 6000, drops=1).check("x").passed
    assert not swept(6000, 0).check("x").passed

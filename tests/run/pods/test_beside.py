"""The captures beside a measurement."""

from __future__ import annotations

from culvert.probe.results import Captured
from culvert.proof.cluster.seen import Seen
from culvert.run.pods.prove import LoadCaptures
from culvert.topology.spec import Placement


def beside(
    packets: int,
    *,
    hits: int = 0,
    drops: int = 0,
    marked: bool = True,
    placement: Placement = Placement.TWO_NODES,
) -> LoadCaptures:
    captured = Captured.model_validate(
        {"packets": packets, "bytes": 0, "matching": {"in": {}}, "other": {},
         "canary_hits": hits, "kernel_drops": drops}
    )  # fmt: skip
    return LoadCaptures([Seen("a", "eth0", captured)], placement, 1, marked)


def passed(found: LoadCaptures) -> list[bool]:
    return [check.passed for check in found.checks]


def test_packets_without_a_canary_pass() -> None:
    assert passed(beside(1000)) == [True, True]
    assert beside(1000).nothing_clear.detail.startswith("the canary was in 0 of 1,000 packets")


def test_a_canary_fails_whatever_was_missed() -> None:
    assert passed(beside(1000, hits=10, drops=5)) == [False, False]


def test_where_no_packet_was_seen_nothing_is_proved() -> None:
    assert passed(beside(0)) == [True, False]
    assert "no packet between the nodes" in beside(0).looked_at.detail
    assert passed(beside(0, placement=Placement.ONE_NODE)) == [True, True]


def test_packets_that_were_dropped_may_have_been_clear() -> None:
    found = beside(1000, drops=7)
    assert passed(found) == [True, False]
    assert "7 packets on eth0 of a were not captured" in found.looked_at.detail


def test_of_packets_that_carry_no_canary_nothing_is_claimed() -> None:
    """Those of the API, in TLS."""
    check = beside(1000, marked=False).nothing_clear
    assert check.name == "no canary during the measurement (pod to pod)"
    assert "the measurement's own packets carry none" in check.detail

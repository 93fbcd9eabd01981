"""Which orders of VPNs a run still waits for."""

from __future__ import annotations

import pytest

from culvert.analysis.line import NO_LINE
from culvert.plan.plan import Plan
from culvert.run.questions import open_questions
from tests.analysis.frames import rows
from tests.study.dummies import parse

STUDY = parse("""
name = "s"
vpns = ["none", "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm"]
[[condition]]
name = "clean"
[[measurement]]
kind = "tcp"
[plan]
blocks = { min = 6, max = 12, until = "ranks decided" }
""")
PLAN = Plan.of(STUDY)
FAST = [100.0, 101, 99, 100, 102, 98, 100]
SLOW = [50.0, 49, 51, 50, 48, 50, 51]
CLOSE = [101.0, 97, 103, 99, 104, 100, 96]


@pytest.mark.parametrize(
    ("third", "waits_for"),
    [
        (SLOW, {"none", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm"}),
        ([value / 2 for value in SLOW], set()),
        (SLOW[:0], set()),
    ],
    ids=["two that are level", "all differ", "one without a trial"],
)
def test_a_rank_waits_for_vpns_that_are_not_told_apart(
    third: list[float], waits_for: set[str]
) -> None:
    close = [value / 2 for value in CLOSE]
    parameters = str(PLAN.cells[0].parameters)
    seen = rows(
        {
            "none": [value * 10 for value in FAST],
            "wireguard/go": FAST,
            "openvpn/aes-256-gcm": close,
            "strongswan/esp-aes256gcm": third,
        },
        parameters=parameters,
    )
    asked = open_questions(STUDY, PLAN, seen, NO_LINE)
    assert asked.claims == {}
    assert asked.cells == {cell.key for cell in PLAN.cells if cell.vpn in waits_for}
    assert set(asked.ranks) == ({"Highest TCP goodput (clean)"} if waits_for else set())


def test_vpns_that_no_practical_number_of_blocks_tells_apart_are_not_waited_for() -> None:
    parameters = str(PLAN.cells[0].parameters)
    same = [100.0, 101, 99, 100.5, 99.5, 100, 100]
    seen = rows(
        {"wireguard/go": same, "openvpn/aes-256-gcm": [*same[1:], same[0]]}, parameters=parameters
    )
    assert open_questions(STUDY, PLAN, seen, NO_LINE).ranks == {}

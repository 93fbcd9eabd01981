"""What a run says of cells that are not as well known as asked, and which cells a claim needs."""

from __future__ import annotations

from culvert.plan.plan import Cell, Plan
from culvert.plan.stopping import Decision, OpenQuestions, StopReason, decide
from culvert.report.numbers import duration
from culvert.run.outlook.studies import plan_text
from culvert.run.output.tally import notes_on
from culvert.run.questions import cells_of_claim
from culvert.study.blocks import StopRule
from tests.study.dummies import parse

STUDY = parse("""
name = "s"
vpns = ["none", "wireguard/go", "openvpn/aes-256-gcm"]
[[condition]]
name = "x"
[[condition]]
name = "y"
[[measurement]]
kind = "udp"
packet_size = [64, 512]
[[measurement]]
kind = "tcp"
[plan]
blocks = { min = 5, max = 40, until = "ci <= 2% and claims decided", stop = "each" }
[[claim]]
id = "c"
text = "t"
test = "udp.goodput_bps[packet_size=64, condition=x]: wireguard/go > none"
[[claim]]
id = "d"
text = "t"
test = "tcp.goodput_bps: wireguard/go > openvpn/aes-256-gcm"
""")
PLAN = Plan.of(STUDY)


def cell(vpn: str, condition: str, kind: str, part: str = "") -> Cell:
    (found,) = [
        one
        for one in PLAN.cells
        if (one.vpn, one.condition, one.measurement) == (vpn, condition, kind)
        and part in one.parameters
    ]
    return found


def test_each_cell_that_is_not_precise_is_named() -> None:
    noisy = cell("wireguard/go", "x", "udp", "64")
    few, fine = cell("none", "y", "tcp"), cell("none", "x", "tcp")
    values = {
        noisy.key: [50.0, 150.0] * 16,
        few.key: [1.0, 2.0],
        fine.key: [100.0, 100.1, 99.9, 100.0, 100.2, 100.0],
    }
    assert PLAN.rule is not None
    decision = decide(
        PLAN.rule,
        values,
        most=PLAN.max_blocks,
        asked=OpenQuestions(claims={"d": [few.key]}, ranks={"Highest TCP goodput (x)": [few.key]}),
    )
    first, second, third, fourth = notes_on(PLAN, decision)
    assert first.startswith("wireguard/go udp packet_size 64 x is known to ±")
    assert second == "none tcp y has 2 trials that count, too few for an interval"
    assert third == "claims not decided at the last check: d"
    assert fourth == "ranks not decided at the last check: Highest TCP goodput (x)"
    assert notes_on(PLAN, Decision(StopReason.BLOCKS)) == []


def test_a_claim_needs_its_sides_and_their_baseline() -> None:
    assert cells_of_claim(STUDY, PLAN, "c") == {
        cell(vpn, "x", "udp", "64").key for vpn in ("none", "wireguard/go")
    }
    assert cells_of_claim(STUDY, PLAN, "d") == {
        cell(vpn, condition, "tcp").key for vpn in STUDY.vpns for condition in "xy"
    }


def test_a_claim_without_cells_waits_for_nothing() -> None:
    assert cells_of_claim(STUDY, PLAN.only("wireguard/go"), "c") != frozenset()
    assert cells_of_claim(STUDY, PLAN.only("wireguard/go"), "d") == frozenset()


def test_the_plan_in_words() -> None:
    told = plan_text(PLAN, PLAN.estimate(lambda _: 10.0))
    assert told == (
        "18 cells, 5 to 40 blocks of about 3 min, until ci <= 2% and claims decided: 15 min to 2 h"
    )
    assert StopRule.parse("ci <= 2% and claims decided") == PLAN.rule


def test_times_for_people() -> None:
    told = [duration(seconds) for seconds in (0.25, 9.9, 10, 58.4, 60, 290, 3600, 7500, 530_000)]
    assert told == [
        "0.25 s",
        "9.9 s",
        "10 s",
        "58 s",
        "1 min",
        "4 min 50 s",
        "1 h",
        "2 h 5 min",
        "147 h 13 min",
    ]

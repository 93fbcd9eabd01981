"""From the trials of a run to the table."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any

import polars as pl
from rich.console import Console

from culvert.calibration.rows import (
    CalibrationRow,
    CalibrationVerdict,
    disturbed,
    elsewhere,
    passed,
    renewed,
    rows_of,
)
from culvert.calibration.show import as_json, render
from culvert.proof.truth import Judged, exactly, judge_truths, rate, time
from culvert.results import Metric

BUSY = {"by": "foreign CPU time", "value": 0.45, "bound": 0.05}
"""The mark of a trial beside other programs."""


def trial(
    measurement: str,
    *checks: dict[str, Any],
    status: str = "ok",
    marks: tuple[dict[str, Any], ...] = (),
    at: int = 0,
) -> dict[str, Any]:
    return {
        "started_at": f"2026-11-29T06:00:{at:02}Z",
        "condition": "20M",
        "measurement": measurement,
        "parameters": "{}",
        "status": status,
        "reason": None if status == "ok" else "the link was late",
        "remedy": None if status == "ok" else "stop other programs",
        "evidence": json.dumps({"checks": checks, "marks": marks}),
    }


def figure(value: float) -> dict[str, Any]:
    truth = rate("ndr_pps", 1768, "frames of 1414 bytes", bound=1800)
    (check,) = judge_truths([truth], [Metric("ndr_pps", "packets/s", value)])
    return asdict(check)


LATE = {"name": "the link delivered the requested values", "passed": False, "figures": {}}
RIGHT = trial("throughput", figure(1760))
LOW = trial("throughput", figure(1700))
IMPOSSIBLE = trial("throughput", figure(2288), status="invalid")
DISTURBED = trial("throughput", LATE, figure(2288), status="invalid")


def verdicts(*trials: dict[str, Any]) -> list[CalibrationVerdict]:
    return [row.verdict for row in rows_of(pl.DataFrame(trials))]


def test_a_figure_within_its_margins_is_right() -> None:
    assert verdicts(RIGHT) == [CalibrationVerdict.RIGHT]
    assert passed(list(rows_of(pl.DataFrame([RIGHT]))))


def test_a_figure_outside_is_missed_also_where_it_made_the_trial_invalid() -> None:
    for each in (LOW, IMPOSSIBLE):
        assert verdicts(each) == [CalibrationVerdict.MISSED]
        assert not passed(list(rows_of(pl.DataFrame([each]))))


def test_a_trial_that_was_disturbed_says_nothing_of_its_figures() -> None:
    (row,) = rows_of(pl.DataFrame([DISTURBED]))
    assert row.verdict is CalibrationVerdict.NOT_MEASURED
    assert (row.reason, row.remedy) == ("the link was late", "stop other programs")
    assert not passed([row])


def test_a_busy_machine_explains_a_figure_that_is_too_low_but_no_impossible_one() -> None:
    low = trial("throughput", figure(1700), marks=(BUSY,))
    (row,) = rows_of(pl.DataFrame([low]))
    assert row.verdict is CalibrationVerdict.NOT_MEASURED
    assert row.reason == "disturbed: other processes used up to 45 % of the CPU time"
    assert row.judged is not None
    assert verdicts(trial("throughput", figure(1770), marks=(BUSY,))) == [CalibrationVerdict.MISSED]
    assert verdicts(trial("throughput", figure(1760), marks=(BUSY,))) == [CalibrationVerdict.RIGHT]


def test_a_busy_machine_is_named_beside_the_reason_of_a_trial_that_does_not_count() -> None:
    (row,) = rows_of(pl.DataFrame([{**DISTURBED, **trial_marks(DISTURBED)}]))
    assert row.reason.startswith("the link was late (disturbed: other processes")


def trial_marks(of: dict[str, Any]) -> dict[str, Any]:
    return {"evidence": json.dumps({**json.loads(of["evidence"]), "marks": [BUSY]})}


def test_a_time_below_its_truth_is_impossible_and_a_longer_one_is_not() -> None:
    truth = time("total_ms", "ms", 40e6, "one round trip")
    for value, impossible in ((39.9, True), (39.97, False), (55.0, False)):
        judged = Judged.of(truth, Metric("total_ms", "ms", value))
        assert judged.impossible is impossible
    none_lost = Judged.of(exactly("lost_packets", 0, "no loss"), Metric("lost_packets", "1", 1))
    assert not none_lost.impossible


def test_of_a_link_that_was_verified_again_the_last_verification_counts() -> None:
    late, right = ({**one, "measurement": "underlay"} for one in (DISTURBED, RIGHT))
    assert verdicts(late, {**right, "started_at": "2026-11-29T07:00:00Z"}) == [
        CalibrationVerdict.RIGHT
    ]


def test_what_was_measured_once_more_replaces_what_was_disturbed_on_the_same_link() -> None:
    def row(kind: str, link: str, verdict: CalibrationVerdict) -> CalibrationRow:
        return CalibrationRow(kind, kind, link, verdict)

    right, missing = CalibrationVerdict.RIGHT, CalibrationVerdict.NOT_MEASURED
    first = [
        row("underlay", "20M", missing),
        row("underlay", "lossy", right),
        row("tcp", "20M", missing),
        row("rtt", "20M", right),
    ]
    assert disturbed(first) == ["tcp"]  # a run verifies its links by itself
    more = [row("underlay", "20M", right), row("tcp", "20M", right)]
    assert renewed(first, more) == [first[1], first[3], *more]


def test_what_was_disturbed_is_measured_once_more_but_no_miss_is() -> None:
    tcp = {**DISTURBED, "measurement": "tcp"}
    rows = list(rows_of(pl.DataFrame([RIGHT, tcp])))
    assert disturbed(rows) == ["tcp"]
    rows += rows_of(pl.DataFrame([{**LOW, "measurement": "tcp"}]))
    assert not disturbed(rows)


def test_what_needs_a_vpn_is_named() -> None:
    rows = list(rows_of(pl.DataFrame([RIGHT])))
    (other,) = elsewhere(["throughput", "acl"], rows)
    assert (other.measurement, other.verdict) == ("acl", CalibrationVerdict.NEEDS_VPN)
    assert passed([*rows, other])


def shown(*trials: dict[str, Any], width: int = 160) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    rows = [*rows_of(pl.DataFrame(trials)), *elsewhere(["acl"], ())]
    console.print(render(rows, 156.0, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_has_truth_figure_and_margins() -> None:
    for width, why in ((160, True), (75, False)):
        lines = [line for line in shown(RIGHT, width=width).splitlines() if "ndr_pps" in line]
        (line,) = lines
        for word in (
            "1\u202f768 packets/s",
            "1\u202f760",
            "1\u202f733 to",
            "right",
        ):
            assert word in line
        assert ("frames of 1414 bytes" in line) is why


def test_the_end_says_whether_the_machine_measures_right_and_names_what_does_not() -> None:
    right = shown(RIGHT)
    assert "1 truth in 2 min 36 s: 1 right. This machine measures right." in right
    assert "needs a VPN: acl: without a VPN there is nothing to measure" in right
    low = shown(LOW)
    assert "missed: Throughput without loss: ndr_pps is 1\u202f700 packets/s, right is" in low
    assert "Figures of this machine are wrong" in low
    busy = shown(DISTURBED, RIGHT | {"condition": "40M"})
    assert "not measured: Throughput without loss, 20M: the link was late" in busy
    assert "too busy" in busy
    assert "remedy: stop other programs" in busy


def test_a_program_reads_the_same() -> None:
    (check,) = judge_truths([exactly("x", 0, "nothing")], [Metric("x", "1", 0, {"node": "a"})])
    document = as_json(list(rows_of(pl.DataFrame([trial("idle_cost", asdict(check))]))), 156.04)
    assert document["right"]
    assert document["seconds"] == 156.0
    (truth,) = json.loads(json.dumps(document))["truths"]
    assert truth["verdict"] == "right"
    assert truth["judged"]["labels"] == {"node": "a"}

"""From the trials of a run to the table."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any

import polars as pl
from rich.console import Console

from culvert.calibration.rows import CalibrationVerdict, disturbed, elsewhere, passed, rows_of
from culvert.calibration.show import as_json, render
from culvert.proof.truth import exactly, judge_truths, rate
from culvert.results import Metric


def trial(measurement: str, *checks: dict[str, Any], status: str = "ok") -> dict[str, Any]:
    return {
        "condition": "20M",
        "measurement": measurement,
        "parameters": "{}",
        "status": status,
        "reason": None if status == "ok" else "the link was late",
        "remedy": None if status == "ok" else "stop other programs",
        "evidence": json.dumps({"checks": checks}),
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


def shown(*trials: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=160, force_terminal=False)
    console.print(render(list(rows_of(pl.DataFrame(trials)))))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_has_truth_figure_and_margins() -> None:
    (line,) = [line for line in shown(RIGHT).splitlines() if "ndr_pps" in line]
    for word in (
        "frames of 1414 bytes",
        "1\u202f768 packets/s",
        "1\u202f760",
        "1\u202f733 to",
        "right",
    ):
        assert word in line
    assert "This machine measures right." in shown(RIGHT)
    assert "may be wrong" in shown(LOW)
    assert "remedy: stop other programs" in shown(DISTURBED)


def test_a_program_reads_the_same() -> None:
    (check,) = judge_truths([exactly("x", 0, "nothing")], [Metric("x", "1", 0, {"node": "a"})])
    document = as_json(list(rows_of(pl.DataFrame([trial("idle_cost", asdict(check))]))))
    assert document["right"]
    (truth,) = json.loads(json.dumps(document))["truths"]
    assert truth["verdict"] == "right"
    assert truth["judged"]["labels"] == {"node": "a"}

"""Trials that do not count for one cause are one problem of the summary."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from culvert.journal.record import TrialRecord
from culvert.results import Status
from culvert.run.output.tally import Tally, TrialProblem


def record(reason: str, status: Status = Status.FAILED, **other: Any) -> TrialRecord:
    fields: dict[str, Any] = {
        "block": 1,
        "position": 1,
        "cell_key": "c",
        "vpn": "x",
        "condition": "clean",
        "measurement": "tcp",
        "parameters": "{}",
        "status": status,
        "reason": reason,
        "remedy": "try again",
        "started_at": datetime(2026, 1, 1, tzinfo=UTC),
        "duration_s": 1.0,
    }
    return TrialRecord(**(fields | other))


def tallied(*records: TrialRecord) -> list[tuple[str, int]]:
    tally = Tally()
    for one in records:
        tally.add(one)
    return [(problem.reason, count) for problem, count in tally.worst_first]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-11-22 00:53:50 pid 4711 died", "2026-11-23 23:04:01 pid 12 died"),
        ("connect to 10.0.0.1:41172: refused", "connect to 10.0.0.1:4789: refused"),
        ("socket /run/cv-3fa9c1/ctl is missing", "socket /run/cv-01b2d4/ctl is missing"),
        ("peer(A1b2\u2026x/8=) went", "peer(Zz9Q\u2026k1m2) went"),
        (
            "key xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg= unknown",
            "key TrMvSoP4jYQlY6RIzBgbssQqY3vxI2Pi+y71lOWWXX0= unknown",
        ),
    ],
)
def test_what_differs_each_time_does_not_divide(first: str, second: str) -> None:
    assert tallied(record(first), record(second)) == [(first, 2)]


def test_other_words_remedies_and_vpns_do() -> None:
    told = [
        record("it was refused 3 times"),
        record("it was lost 3 times"),
        record("it was refused 3 times", remedy="leave it out"),
        record("it was refused 3 times", vpn="y"),
        record("it was refused 3 times", Status.UNSUPPORTED),
    ]
    assert len(tallied(*told)) == len(told)


def test_an_invalid_trials_cause_is_the_check_that_did_not_pass() -> None:
    def invalid(name: str, detail: str) -> TrialRecord:
        checks = [{"name": "path", "passed": True}, {"name": name, "passed": False}]
        return record(f"{name}: {detail}", Status.INVALID, evidence={"checks": checks})

    found = tallied(
        invalid("canary", "readable towards a"),
        invalid("canary", "readable in packets such as b"),
        invalid("bytes", "half of them are missing"),
    )
    assert found == [("canary: readable towards a", 2), ("bytes: half of them are missing", 1)]


def test_vpns_with_a_problem_in_the_same_words_come_together() -> None:
    tally = Tally()
    for vpn, reason in [("x", "late"), ("y", "lost"), ("z", "late"), ("x", "late")]:
        tally.add(record(reason, vpn=vpn))
    found = [(vpns, problem.reason, count) for vpns, problem, count in tally.common_first]
    assert found == [(["x", "z"], "late", 3), (["y"], "lost", 1)]


@pytest.mark.parametrize(
    ("counts", "lacking", "code"),
    [
        ({}, 0, 0),
        ({Status.OK: 5}, 0, 0),
        ({Status.OK: 5, Status.UNSUPPORTED: 1}, 0, 3),
        ({Status.OK: 5, Status.UNSUPPORTED: 1}, 1, 0),
        ({Status.OK: 5, Status.UNSUPPORTED: 2}, 1, 3),
        ({Status.UNSUPPORTED: 2}, 2, 3),
        ({Status.OK: 5, Status.UNSUPPORTED: 1, Status.FAILED: 1}, 1, 1),
        ({Status.INVALID: 1}, 0, 1),
    ],
)
def test_the_statuses_decide_the_exit_code(
    counts: dict[Status, int], lacking: int, code: int
) -> None:
    tally = Tally(statuses={**dict.fromkeys(Status, 0), **counts}, lacking=lacking)
    assert tally.exit_code == code


def test_what_went_wrong_is_told_before_what_is_not_possible() -> None:
    counts = {Status.UNSUPPORTED: 14, Status.INVALID: 1, Status.FAILED: 2}
    problems = {TrialProblem("x", status, "why", "how"): count for status, count in counts.items()}
    told = [problem.status for problem, _ in Tally(problems=problems).worst_first]
    assert told == [Status.FAILED, Status.INVALID, Status.UNSUPPORTED]

"""What is said of interference, and what of it counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from culvert.labs.process import Process
from culvert.probe.results import Accounted
from culvert.probe.results.accounting import Episode, Meddling
from culvert.proof.interference import MOST_NAMED, Stops, in_words, left_alone
from culvert.trial.outcome import Outcome
from culvert.trial.watch import Watched
from culvert.vpns.base import Vpn

PROCESS = {"process": {"label": "wg", "pid": 7}}
SECOND = 1_000_000_000


def episode(kind: Meddling, subject: Any = PROCESS, **more: Any) -> dict[str, Any]:
    usual = {"detail": "", "start_ns": 3 * SECOND, "lasted_ns": SECOND // 4}
    return {"kind": kind, "subject": subject, **usual, **more}


def node(*episodes: dict[str, Any], unseen: list[str] | None = None) -> Accounted:
    observed = {
        "started_ns": 2 * SECOND,
        **{"processes": 1, "devices": 2, "looks": 50, "longest_gap_ns": 21_000_000, "cpu_ns": 9},
        **{"episodes": list(episodes), "unseen": unseen or []},
    }
    return Accounted.model_validate({"seconds": 1.0, "cpus": [], "interference": observed})


def outcome(**others: Accounted) -> Outcome:
    return Outcome([], [Watched({}, 1.0, others=others)])


def test_each_kind_has_its_sentence() -> None:
    observed = node().interference
    assert observed is not None
    said = {
        in_words("b", observed, Episode.model_validate(episode(kind, detail="/x")))
        for kind in Meddling
    }
    assert len(said) == len(Meddling) - 1  # a quota is the same, whoever else is under it
    assert all(one.startswith("wg (process 7) on node b ") for one in said)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (
            episode(Meddling.STOPPED),
            "wg (process 7) on node b was stopped (SIGSTOP or a tracer) for 0.250 s, 1.00 s after "
            "the start",
        ),
        (
            episode(Meddling.MTU, {"device": "wg0"}, detail="9 instead of 8"),
            "wg0 on node b had another MTU (9 instead of 8) for 0.250 s, 1.00 s after the start",
        ),
        (
            episode(Meddling.ROUTE, "node", detail="10.0.0.1/32 added"),
            "node b had other routes (10.0.0.1/32 added) for 0.250 s, 1.00 s after the start",
        ),
    ],
)
def test_a_sentence_has_what_how_long_and_when(one: dict[str, Any], words: str) -> None:
    (check,) = left_alone(outcome(b=node(one)))
    assert not check.passed
    assert check.detail == words
    assert ("network" in check.remedy) is ("process" not in one["subject"])


def test_nothing_is_said_of_a_quota_on_everything() -> None:
    (check,) = left_alone(outcome(b=node(episode(Meddling.THROTTLED_TOGETHER))))
    assert check.passed


def test_many_are_counted_and_what_is_not_observed_is_named() -> None:
    many = [episode(Meddling.STOPPED)] * (MOST_NAMED + 2)
    (check,) = left_alone(outcome(a=node(*many), b=node(unseen=["control groups: none"])))
    assert "; and 2 more; not observed on node b: control groups: none" in check.detail
    bare = Accounted.model_validate({"seconds": 1.0, "cpus": []})
    (check,) = left_alone(outcome(a=node(), b=bare))
    assert check.passed
    assert check.detail == (
        "1 processes, each looked at within 21 ms, and all changes of 2 devices; "
        "not observed on node b"
    )


class Fake:
    name, pid = "wg", 7

    def __init__(self, resumed: int = 0) -> None:
        self.resumed = resumed

    def resumptions(self) -> int:
        return self.resumed


def test_only_stops_since_then_count_and_of_new_processes_all() -> None:
    old, new = Fake(2), Fake()
    running: dict[str, list[Process]] = {"a": [cast(Process, old)]}
    stops = Stops(cast(Vpn, SimpleNamespace(processes=running)))
    running["b"] = [cast(Process, new)]
    assert stops.checks() == []
    new.resumed = 1
    (check,) = stops.checks()
    assert "on node b was stopped and continued" in check.detail
    old.resumed += 1
    assert len(stops.checks()) == 2

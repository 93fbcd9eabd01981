"""A series that ends in silence, and one that does not."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from culvert.proof.alive import ends_in_silence, longest_silence, silence_ns
from culvert.results import Series
from culvert.topology.link.impairment import Blackout, Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session

STEP_NS = 100_000_000


def series(values: Sequence[float], name: str = "received_bytes") -> Series:
    return Series(name, "bytes", [number * STEP_NS for number in range(len(values))], values)


def session(impairment: Impairment | None = None) -> Session:
    link = LinkSpec(impairment=impairment or Impairment())
    return cast(Session, SimpleNamespace(link=link, patience_ms=lambda least: least))


@pytest.mark.parametrize(
    ("values", "steps"),
    [([], 0), ([5], 0), ([5, 5, 5], 0), ([5, 5, 0, 0, 0], 3), ([0, 0, 0], 2), ([0, 5, 0, 5], 0)],
)
def test_silence_is_what_follows_the_last_packet(values: list[float], steps: int) -> None:
    assert silence_ns(series(values)) == steps * STEP_NS


@pytest.mark.parametrize(
    ("packets", "zeros", "passed"),
    [(50, 0, True), (50, 9, True), (25, 25, False), (40, 11, False), (99, 12, True)],
)
def test_a_long_silence_to_the_end_is_no_result(packets: int, zeros: int, passed: bool) -> None:
    outcome = Outcome([], [], series=[series([5.0] * packets + [0.0] * zeros)])
    (check,) = ends_in_silence(session(), outcome)
    assert check.passed is passed
    assert f"{zeros / 10:.2f} s" in check.detail
    assert check.remedy


def test_each_direction_is_looked_at_and_other_series_are_not() -> None:
    silent = [5.0] * 5 + [0.0] * 50
    outcome = Outcome(
        [], [], series=[series([5.0] * 55), series(silent), series(silent, "lost_packets")]
    )
    assert [check.passed for check in ends_in_silence(session(), outcome)] == [True, False]


@pytest.mark.parametrize(
    ("values", "begin", "steps"),
    [
        ([], 0, 0),
        ([5, 5, 5], 0, 0),
        ([5, 0, 5, 0, 0, 0, 5, 5], 2, 3),
        ([0, 0, 5, 0, 5, 0, 0, 0], 2, 1),
        ([5, 0, 0, 0], 0, 0),
    ],
)
def test_the_longest_silence_between_packets(values: list[float], begin: int, steps: int) -> None:
    assert longest_silence(series(values)) == (begin * STEP_NS, steps * STEP_NS)


def test_a_silence_in_the_middle_is_reported_and_not_judged() -> None:
    outcome = Outcome([], [], series=[series([5.0] * 5 + [0.0] * 20 + [5.0] * 5)])
    (check,) = ends_in_silence(session(), outcome)
    assert check.passed
    assert check.detail.endswith("; before, for 2.00 s from 0.40 s on")
    assert check.figures["longest_silent_ns"] == 20 * STEP_NS


@pytest.mark.parametrize("way", [OneWay(loss=0.1), OneWay(blackout=Blackout(10**9))])
def test_where_the_link_is_requested_to_be_silent_nothing_is_concluded(way: OneWay) -> None:
    outcome = Outcome([], [], series=[series([5.0] * 5 + [0.0] * 50)])
    for impairment in (Impairment(a_to_b=way), Impairment(b_to_a=way)):
        assert ends_in_silence(session(impairment), outcome) == []

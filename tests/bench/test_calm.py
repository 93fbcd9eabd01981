"""A goal of speed is not judged on a busy machine."""

from __future__ import annotations

import pytest
from bench.goal import SPEEDS
from bench.goals import GOALS

from bench import calm
from culvert.errors import NotPossible


def ticks(monkeypatch: pytest.MonkeyPatch, *values: tuple[int, int]) -> None:
    programs, stolen = (iter([one / 100 for one in column]) for column in zip(*values, strict=True))
    clock = iter(float(number) for number in range(10))
    monkeypatch.setattr(calm, "_programs_s", lambda: next(programs))
    monkeypatch.setattr(calm, "stolen_s", lambda: next(stolen))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr("os.cpu_count", lambda: 2)


@pytest.mark.parametrize(
    ("programs", "stolen", "is_calm"),
    [(0, 0, True), (19, 3, True), (21, 0, False), (0, 5, False), (200, 0, False)],
)
def test_shares_are_of_all_processors(
    monkeypatch: pytest.MonkeyPatch, programs: int, stolen: int, is_calm: bool
) -> None:
    ticks(monkeypatch, (1000, 50), (1000 + programs, 50 + stolen))
    assert calm.Watch().load().calm is is_calm


def test_a_busy_machine_is_named_with_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks(monkeypatch, (0, 0), (128, 6))
    with pytest.raises(NotPossible, match=r"64% of the CPU time .* takes 3%"):
        calm.require_calm(0)


def test_counters_of_this_machine_are_read() -> None:
    assert calm._programs_s() > 0
    assert calm.stolen_s() >= 0


def test_goals_of_speed_are_those_with_such_a_unit() -> None:
    of_speed = {goal.name for goal in GOALS if goal.unit in SPEEDS}
    assert {"report-time", "wire-single-packets", "hosts-ratio"} <= of_speed
    assert not {"false-best", "replay", "static-size"} & of_speed

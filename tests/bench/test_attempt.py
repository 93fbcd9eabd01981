"""The line of a goal."""

from __future__ import annotations

from io import StringIO

import pytest
from bench.goal import Goal, Samples
from rich.console import Console

from bench import attempt
from culvert.errors import NotPossible


class Fast(Goal):
    name, what, unit, goal = "fast", "how long it takes", "s", "at most 1 s"
    took_s = 2.0

    def measure(self) -> Samples:
        return Samples([self.took_s])

    def met(self, samples: Samples) -> bool:
        return samples.ours[0] <= 1


@pytest.mark.parametrize(
    ("took_s", "busy_from", "expected"),
    [
        (2.0, 3, "not met"),
        (0.5, 3, "met"),
        (2.0, 1, "not possible: a goal: the machine is busy"),
        (2.0, 2, "not possible: a goal: the machine is busy"),
        (0.5, 2, "met"),
    ],
)
def test_a_goal_of_speed_is_not_judged_where_programs_have_begun_meanwhile(
    monkeypatch: pytest.MonkeyPatch, took_s: float, busy_from: int, expected: str
) -> None:
    looks = 0

    def require_calm() -> None:
        nonlocal looks
        looks += 1
        if looks >= busy_from:
            raise NotPossible("a goal", "the machine is busy", "end other programs")

    monkeypatch.setattr(attempt, "require_calm", require_calm)
    goal, text = Fast(), StringIO()
    goal.took_s = took_s
    line = attempt.attempt(goal, Console(file=text, width=200))
    assert expected in text.getvalue()
    assert line.get("met") == {"met": True, "not met": False}.get(expected)

"""When a goal that is a bound is met; every goal is one of ``make bench``."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import bench.goals
import pytest
from bench.bounds import MedianBelow, RatioAtLeast, RatioAtMost, RatioNearOne
from bench.goal import Goal, Samples
from bench.goals import GOALS


class Bound:
    name = "bound"

    def measure(self) -> Samples:
        return Samples()


class Below(Bound, MedianBelow):
    limit = 2.0


class Near(Bound, RatioNearOne):
    tolerance = 0.25


class Least(Bound, RatioAtLeast):
    factor = 2.0


class Most(Bound, RatioAtMost):
    factor = 2.0


@pytest.mark.parametrize(
    ("ours", "met"), [([1.0, 1.5, 90.0], True), ([2.0], False), ([0.0, 3.0, 3.0], False)]
)
def test_a_median_is_below_its_limit(ours: list[float], met: bool) -> None:
    assert Below().met(Samples(ours)) is met


@pytest.mark.parametrize(
    ("goal", "met", "not_met"),
    [
        (Near(), (0.75, 1.25), (0.7, 1.3)),
        (Least(), (2.0, 9.0), (1.9,)),
        (Most(), (2.0, 0.1), (2.1,)),
    ],
)
def test_a_ratio_may_be_at_its_bound_and_not_beyond(
    goal: Goal, met: tuple[float, ...], not_met: tuple[float, ...]
) -> None:
    peer = [4.0]
    assert all(goal.met(Samples([4.0 * ratio], peer)) for ratio in met)
    assert not any(goal.met(Samples([4.0 * ratio], peer)) for ratio in not_met)
    assert not goal.met(Samples([1.0]))  # there is no ratio


def named() -> Iterator[type[Goal]]:
    """Every class that is a goal of its own: those without a name are bases of some."""
    for module in pkgutil.iter_modules(bench.goals.__path__, "bench.goals."):
        for _, one in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(one, Goal) and "name" in vars(one):
                yield one


def test_every_goal_is_in_the_list_once() -> None:
    assert set(named()) <= set(GOALS)
    names = [goal.name for goal in GOALS]
    assert len(set(names)) == len(names)
    assert [goal for goal in GOALS if inspect.isabstract(goal)] == []

"""Two clocks of a lab that differ are named, and by how much."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from culvert.errors import LabError
from culvert.labs.base import Lab
from culvert.run.trials.causes import clocks_apart

DAY_S = 86_400
SLACK_S = 600


def lab(**clocks: Callable[[], int]) -> Lab:
    nodes = {name: SimpleNamespace(realtime_ns=clock) for name, clock in clocks.items()}
    return cast(Lab, SimpleNamespace(nodes=nodes))


def ahead(seconds: float) -> Callable[[], int]:
    return lambda: time.time_ns() + round(seconds * 1e9)


def unreachable() -> int:
    raise LabError("host c", "is lost", "see its log")


@pytest.mark.parametrize("seconds", [0, 0.4, -0.4, SLACK_S, -SLACK_S])
def test_clocks_that_agree_are_no_cause(seconds: float) -> None:
    assert clocks_apart("v", lab(a=ahead(0), b=ahead(seconds), c=unreachable)) is None


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ({"a": 0.0, "relay": DAY_S}, "of node relay is 86400 s ahead of that of node a"),
        ({"a": 0.0, "relay": -DAY_S}, "of node a is 86400 s ahead of that of node relay"),
        ({"a": DAY_S, "b": DAY_S}, "of node a is 86400 s ahead of that of this machine"),
        ({"a": SLACK_S, "b": -SLACK_S}, "of node a is 1200 s ahead of that of node b"),
    ],
)
def test_the_two_that_differ_most_are_named(nodes: dict[str, float], reason: str) -> None:
    error = clocks_apart("v", lab(**{name: ahead(each) for name, each in nodes.items()}))
    assert error is not None
    assert reason in error.why
    assert "chronyc" in error.remedy

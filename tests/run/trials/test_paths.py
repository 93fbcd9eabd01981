"""Figures of several paths: each with its label, and their medians."""

from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from culvert.results import Metric
from culvert.run.trials.paths import together
from culvert.topology.graph import Path
from culvert.trial.outcome import Outcome

PATHS = [Path("a", name) for name in "bcdef"]
VALUES = st.lists(st.just(0.0) | st.floats(1e-9, 1e9), min_size=2, max_size=5)


def outcome(value: float) -> Outcome:
    return Outcome([Metric("rtt", "ns", value), Metric("cpu", "s", value / 2, {"node": "a"})], [])


def shown(metrics: list[Metric]) -> set[tuple[object, ...]]:
    return {(one.name, one.value, *sorted(one.labels.items())) for one in metrics}


@given(VALUES)
def test_each_path_has_a_label_and_all_paths_a_median(values: list[float]) -> None:
    outcomes = {path: outcome(value) for path, value in zip(PATHS, values, strict=False)}
    expected: set[tuple[object, ...]] = {
        ("rtt", statistics.median(values)),
        ("cpu", statistics.median(value / 2 for value in values), ("node", "a")),
    }
    for path, value in zip(outcomes, values, strict=True):
        label = ("path", str(path))
        expected |= {("rtt", value, label), ("cpu", value / 2, ("node", "a"), label)}
    assert shown(together(outcomes).metrics) == expected


def test_an_only_path_has_no_label() -> None:
    only = outcome(3.0)
    assert together({PATHS[0]: only}) is only

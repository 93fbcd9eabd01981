"""Figures of several paths: each with its label, and their medians."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from culvert.results import Metric
from culvert.run.trials.paths import labelled, together
from culvert.topology.graph import Path
from culvert.trial.outcome import Outcome

PATHS = [Path("a", name) for name in "bcdef"]
VALUES = st.lists(st.just(0.0) | st.floats(1e-9, 1e9), min_size=2, max_size=5)


def outcome(value: float) -> Outcome:
    return Outcome([Metric("rtt", "ns", value), Metric("cpu", "s", value / 2, {"node": "a"})], [])


def shown(metrics: list[Metric]) -> set[tuple[object, ...]]:
    return {(one.name, one.value, *sorted(one.labels.items())) for one in metrics}


@given(VALUES, st.data())
def test_paths_measured_in_parts_give_the_same_figures(
    values: list[float], data: st.DataObject
) -> None:
    outcomes = {path: outcome(value) for path, value in zip(PATHS, values, strict=False)}
    first = data.draw(st.integers(1, len(values) - 1))
    before, later = dict([*outcomes.items()][:first]), dict([*outcomes.items()][first:])
    part = labelled(before).metrics
    assert all("path" in metric.labels for metric in part)
    whole = shown(together(outcomes).metrics)
    assert shown([*part, *together(later, part).metrics]) == whole


def test_an_only_path_has_no_label() -> None:
    only = outcome(3.0)
    assert together({PATHS[0]: only}) is only

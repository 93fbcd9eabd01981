"""The search names the changed commit as often as it says, in few trials."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import pytest

from culvert.statistics.bisection import (
    LOOKS,
    Difference,
    Ends,
    credible,
    ends,
    next_commit,
    posterior,
    suspects,
)

COMMITS = 64


def search(
    noise: np.random.Generator,
    fall: float,
    scatter: float,
    unmeasurable: Collection[int] = (),
    shared: float | None = None,
) -> tuple[tuple[int, ...], int, int]:
    """One history: the commits that are named, the commit that changed it, the trials."""
    changed, shift = int(noise.integers(1, COMMITS + 1)), math.log1p(-fall)

    def measured(commit: int) -> Difference:
        # The good commit and another one in a block: two trials, each with its own scatter.
        own = scatter * math.sqrt(2) * float(noise.standard_normal())
        move = shift if commit >= changed else 0.0
        if shared is None:
            return Difference(commit, own + move)
        # The covariate has this share of the scatter.
        machine = scatter * math.sqrt(2) * float(noise.standard_normal())
        both = shared * machine + math.sqrt(1 - shared**2) * own
        return Difference(commit, both + move, machine)

    seen: list[Difference] = []
    while (found := ends(seen, shift, 0.02)) is Ends.OPEN:
        seen.append(measured(COMMITS))
    if found is Ends.REFUTED:
        return (), changed, 2 * len(seen)
    while True:
        chances = posterior(COMMITS, seen)
        first = suspects(chances, unmeasurable)[0]
        if first.probability >= 0.97:
            return first.commits, changed, 2 * len(seen)
        commit = next_commit(chances, unmeasurable)
        assert commit is not None
        assert commit not in unmeasurable
        seen.append(measured(commit))


@pytest.mark.parametrize(
    ("fall", "scatter", "median"), [(0.05, 0.02, 60), (0.10, 0.02, 30), (0.05, 0.01, 30)]
)
def test_it_names_the_commit_in_19_of_20_histories(
    fall: float, scatter: float, median: int
) -> None:
    noise = np.random.default_rng(1)
    found = [search(noise, fall, scatter) for _ in range(200)]
    right = sum(named == (changed,) for named, changed, _ in found)
    assert right >= 0.95 * len(found)
    assert np.median([trials for *_, trials in found]) <= median


def test_a_covariate_saves_trials_and_names_as_well() -> None:
    noise = np.random.default_rng(4)
    with_it = [search(noise, 0.05, 0.02, shared=0.9) for _ in range(100)]
    without = [search(noise, 0.05, 0.02) for _ in range(100)]
    assert sum(named == (changed,) for named, changed, _ in with_it) >= 91
    saved = np.median([trials for *_, trials in with_it])
    assert saved <= 0.8 * float(np.median([trials for *_, trials in without]))


def test_commits_that_do_not_build_are_named_with_the_next_that_does() -> None:
    noise, unmeasurable = np.random.default_rng(2), {10, 11, 40, 63}
    found = [search(noise, 0.1, 0.02, unmeasurable) for _ in range(100)]
    assert sum(changed in named for named, changed, _ in found) >= 95
    groups = {named for named, *_ in found}
    assert groups <= {(one,) for one in range(1, 65)} | {(10, 11, 12), (40, 41), (63, 64)}
    assert groups & {(10, 11, 12), (40, 41), (63, 64)}


def test_no_change_is_refuted_and_a_change_shown() -> None:
    noise, shift = np.random.default_rng(3), math.log(0.95)

    def verdict(mean: float) -> Ends:
        seen: list[Difference] = []
        while (found := ends(seen, shift, 0.05)) is Ends.OPEN:
            seen.append(Difference(1, mean + 0.03 * float(noise.standard_normal())))
        return found

    assert sum(verdict(0.0) is Ends.SHOWN for _ in range(300)) <= 15
    assert sum(verdict(shift) is Ends.REFUTED for _ in range(300)) <= 15
    assert verdict(-shift) is Ends.REFUTED  # it rose
    assert ends([Difference(1, shift)] * LOOKS[0], shift, 0.05) is Ends.SHOWN
    assert ends([Difference(1, 0.0)] * LOOKS[0], shift, 0.05) is Ends.REFUTED


def test_the_posterior_is_where_the_differences_change() -> None:
    seen = [Difference(one, 0.001 * (-1) ** one - (0.1 if one >= 5 else 0)) for one in range(1, 9)]
    chances = posterior(8, [*seen, *seen])
    assert math.isclose(chances.sum(), 1.0)
    assert chances.argmax() + 1 == 5
    assert credible(suspects(chances), 0.95) == [5]
    # What was never measured between two commits cannot be told apart.
    apart = posterior(8, [one for one in seen if one.commit in (1, 2, 6, 7, 8)])
    assert apart[2] == pytest.approx(apart[3]) == pytest.approx(apart[5])
    assert credible(suspects(apart), 0.95) == [3, 4, 5, 6]


def test_nothing_is_left_to_measure() -> None:
    chances = np.array([0.5, 0.3, 0.2])
    assert next_commit(chances, {1, 2}) is None
    assert suspects(chances, {1, 2})[0].commits == (1, 2, 3)
    assert next_commit(np.array([1.0])) is None

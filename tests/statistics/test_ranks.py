from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.ranks import Rank, rank_intervals

series = st.lists(st.floats(0, 100), max_size=9)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from("abcde"), series, max_size=5))
def test_places_exist_and_turn_round_with_the_direction(given_: dict[str, list[float]]) -> None:
    up = rank_intervals(given_, 1, more_is_better=True)
    down = rank_intervals(given_, 1, more_is_better=False)
    many = len(given_)
    assert set(up) == set(given_)
    for name, rank in up.items():
        assert 1 <= rank.best <= rank.worst <= many
        assert down[name] == Rank(many + 1 - rank.worst, many + 1 - rank.best)


def test_clear_differences_are_clear_and_too_few_values_are_open() -> None:
    near = np.array([0.99, 1.0, 1.01, 0.995, 1.005, 1.0, 1.002, 0.998])
    found = rank_intervals(
        {"slow": near, "fast": 3 * near, "middle": 2 * near}, 1, more_is_better=True
    )
    assert found == {"fast": Rank(1, 1), "middle": Rank(2, 2), "slow": Rank(3, 3)}
    unknown = rank_intervals({"a": near, "b": [9.0]}, 1, more_is_better=True)
    assert unknown == {"a": Rank(1, 2), "b": Rank(1, 2)}


def test_equals_are_seldom_ranked() -> None:
    rng = np.random.default_rng(20)
    alarms = 0
    for _ in range(150):
        equals = dict(zip("abcde", rng.normal(100, 1, (5, 12)), strict=True))
        found = rank_intervals(equals, 1, more_is_better=True)
        alarms += any(rank != Rank(1, 5) for rank in found.values())
    assert alarms / 150 <= 0.08

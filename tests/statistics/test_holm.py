from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.statistics.holm import holm

p_values = st.lists(st.floats(0, 1), max_size=12)


@given(p_values)
def test_it_only_grows_stays_in_order_and_is_at_most_bonferroni(given_: list[float]) -> None:
    found = holm(given_)
    for p, adjusted in zip(given_, found, strict=True):
        assert p <= adjusted <= min(1.0, p * len(given_))
    ascending = sorted(range(len(given_)), key=lambda index: given_[index])
    assert [found[index] for index in ascending] == sorted(found)


@given(p_values, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(given_: list[float], random: object) -> None:
    shuffled = list(given_)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sorted(holm(given_)) == sorted(holm(shuffled))


def test_a_known_case() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.ranks import Lead, Rank, leads, ranks_of

NAMES = "abcde"
AHEAD = st.sets(st.sampled_from(list(combinations(NAMES, 2))))


@settings(max_examples=40, deadline=None)
@given(AHEAD)
def test_places_exist_and_turn_round_with_the_direction(ahead: set[tuple[str, str]]) -> None:
    up = ranks_of(NAMES, ahead)
    down = ranks_of(NAMES, [(second, first) for first, second in ahead])
    many = len(NAMES)
    for name, rank in up.items():
        assert 1 <= rank.best <= rank.worst <= many
        assert down[name] == Rank(many + 1 - rank.worst, many + 1 - rank.best)


def test_a_place_is_lost_only_to_those_that_are_told_apart() -> None:
    assert ranks_of("abc", [("b", "a"), ("b", "c")]) == {
        "a": Rank(2, 3),
        "b": Rank(1, 1),
        "c": Rank(2, 3),
    }
    assert ranks_of("ab", []) == {"a": Rank(1, 2), "b": Rank(1, 2)}


def test_a_lead_needs_something_behind_it() -> None:
    assert leads(ranks_of("abc", [])) == {}
    assert leads(ranks_of("abc", [("a", "b")])) == {"a": Lead.MAYBE, "c": Lead.MAYBE}
    assert leads(ranks_of("abc", [("a", "b"), ("a", "c")])) == {"a": Lead.BEST}
    assert leads({}) == {}

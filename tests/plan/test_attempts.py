"""Trials that are measured once more leave their place in the block free."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from culvert.plan.schedule import Place, Unplaced, keys_of, next_key, to_repeat


@given(st.lists(st.sampled_from(Unplaced), min_size=1, max_size=12), st.booleans())
def test_each_attempt_has_a_key_of_its_own(kinds: list[Unplaced], measured: bool) -> None:
    done: set[Place] = {(2, "cell"), (1, "other"), (2, "cell/part-1"), (1, "cell2/lost-1")}
    before = set(done)
    for kind in kinds:
        key = next_key(kind, 1, "cell", done)
        assert (1, key) not in done
        done.add((1, key))
    assert len(done) == len(before) + len(kinds)
    for kind in Unplaced:
        keys = keys_of(kind, 1, "cell", done)
        assert len(keys) == len(set(keys)) == kinds.count(kind)
        assert {(1, key) for key in keys} <= done - before
    if measured:
        done.add((1, "cell"))
    others = {(1, "cell2")}
    missing = not measured and {Unplaced.LOST, Unplaced.PART} & set(kinds)
    assert to_repeat(done) == ({(1, "cell"), *others} if missing else others)

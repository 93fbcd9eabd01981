"""Trials that lost a host leave their place in the block free."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from culvert.plan.attempts import Place, key_of_lost, to_repeat


@given(st.integers(1, 4), st.booleans())
def test_each_attempt_has_a_key_of_its_own(lost: int, measured: bool) -> None:
    done: set[Place] = {(2, "cell"), (1, "other")}
    for _ in range(lost):
        key = key_of_lost(1, "cell", done)
        assert (1, key) not in done
        done.add((1, key))
    assert len(done) == 2 + lost
    if measured:
        done.add((1, "cell"))
    assert to_repeat(done) == (set() if measured else {(1, "cell")})

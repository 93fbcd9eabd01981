"""The same work on several things at the same time."""

from __future__ import annotations

import threading

import pytest

from culvert.labs.together import AT_ONCE, at_once


def test_the_results_are_in_order_and_the_work_at_the_same_time() -> None:
    meeting = threading.Barrier(AT_ONCE, timeout=10)

    def meet(number: int) -> int:
        meeting.wait()
        return -number

    assert at_once(meet, list(range(AT_ONCE))) == [-number for number in range(AT_ONCE)]
    assert at_once(str, [1]) == ["1"]
    assert at_once(str, []) == []


def test_an_error_waits_for_the_others() -> None:
    ended = []

    def work(number: int) -> None:
        if number == 0:
            raise ValueError("the first")
        ended.append(number)

    with pytest.raises(ValueError, match="the first"):
        at_once(work, [0, 1, 2])
    assert set(ended) <= {1, 2}
    assert not [each for each in threading.enumerate() if each.name.startswith("at-once")]


def test_an_interrupt_waits_for_nothing() -> None:
    hold = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            raise KeyboardInterrupt
        hold.wait(10)

    try:
        with pytest.raises(KeyboardInterrupt):
            at_once(work, [0, 1])
        assert not hold.is_set()
    finally:
        hold.set()

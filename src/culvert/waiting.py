"""Waiting for facts: every wait has a deadline, and its error names the fact."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from culvert.errors import DeadlineExceeded

T = TypeVar("T")


def wait_until(
    fact: Callable[[], T | None],
    *,
    what: str,
    deadline_s: float,
    poll_s: float = 0.001,
    remedy: str = "see the log of the process that is responsible",
) -> T:
    """Return the first value of ``fact()`` that is neither None nor False.

    ``fact`` is called every ``poll_s`` seconds; for facts that have no event to wait on.
    Raises DeadlineExceeded after ``deadline_s`` seconds.
    """
    end = time.monotonic() + deadline_s
    while True:
        value = fact()
        if value is not None and value is not False:
            return value
        if time.monotonic() >= end:
            raise DeadlineExceeded(what, f"was not true within {deadline_s:g} s", remedy)
        time.sleep(poll_s)

"""Waiting for facts: every wait has a deadline, and its error names the fact."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from culvert.errors import DeadlineExceeded

T = TypeVar("T")
_POLL_SHARE = 0.01


def wait_until(
    fact: Callable[[], T | None],
    *,
    what: str,
    deadline_s: float,
    poll_s: float = 0.001,
    remedy: str = "see the log of the process that is responsible",
) -> T:
    """Return the first value of ``fact()`` that is neither None nor False.

    ``fact`` is called every ``poll_s`` seconds, and after a while at intervals of a hundredth of
    the time waited, so that many waits at once do not load the machine; for facts that have no
    event to wait on.
    Raises DeadlineExceeded after ``deadline_s`` seconds.
    """
    begun = time.monotonic()
    while True:
        value = fact()
        if value is not None and value is not False:
            return value
        waited_s = time.monotonic() - begun
        if waited_s >= deadline_s:
            raise DeadlineExceeded(what, f"was not true within {deadline_s:g} s", remedy)
        time.sleep(max(poll_s, _POLL_SHARE * waited_s))


def within(deadline_s: float, work: Callable[[], T]) -> T:
    """Return what ``work()`` returns; raises TimeoutError after ``deadline_s`` seconds.

    For work that no deadline of its own ends, such as reading from a peer that sends a byte at a
    time. It is done in a thread, which is left alone when it is late, and ends with the program.
    """
    found: Future[T] = Future()

    def do() -> None:
        try:
            found.set_result(work())
        except BaseException as error:  # it is raised where the result is wanted
            found.set_exception(error)

    threading.Thread(target=do, name="within", daemon=True).start()
    return found.result(deadline_s)

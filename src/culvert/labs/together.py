"""One function for several things at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 25
S = TypeVar("S")
T = TypeVar("T")


def at_once(work: Callable[[S], T], things: Sequence[S]) -> list[T]:
    """The results in the order of the things; raises the error of the first that has one, when all
    have ended. Ctrl-C does not wait for them: what they use is closed next."""
    if len(things) <= 1:
        return [work(thing) for thing in things]
    pool = ThreadPoolExecutor(min(AT_ONCE, len(things)), "at-once")
    try:
        results = list(pool.map(work, things))
    except Exception:
        pool.shutdown(cancel_futures=True)
        raise
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return results

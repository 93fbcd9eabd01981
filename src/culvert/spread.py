"""One function for many things, by several processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def spread(work: Callable[[Given], Made], given: Sequence[Given], few: int) -> Iterator[Made]:
    """The results in the order of ``given``; ``few`` of them take less time than a process to
    start. ``work`` can be pickled."""
    workers = min(len(os.sched_getaffinity(0)), len(given) // few)
    if workers < 2:
        yield from map(work, given)
        return
    # Polars' threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    # Seldom searched for cycles: a tenth of the time of many reports.
    with ProcessPoolExecutor(
        workers, context, initializer=gc.set_threshold, initargs=(100_000, 50, 50)
    ) as pool:
        yield from pool.map(work, given, chunksize=few)

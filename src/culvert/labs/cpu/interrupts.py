"""Sections of code that Ctrl-C must not interrupt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

DEFERRED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def deferred() -> Iterator[None]:
    """Defer Python's handlers of SIGINT, SIGTERM and SIGHUP until the end of the block.

    Only the main thread runs handlers, so in other threads there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    handlers = {number: signal.getsignal(number) for number in DEFERRED}
    ours = [number for number, handler in handlers.items() if callable(handler)]
    try:
        for number in ours:
            signal.signal(number, lambda *arguments: held.append(arguments))
        yield
    finally:
        for number in ours:
            signal.signal(number, handlers[number])
        for received, frame in held[:1]:
            handler = handlers[signal.Signals(received)]
            if callable(handler):
                handler(received, frame)

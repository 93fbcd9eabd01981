"""Ctrl-C, SIGTERM and SIGHUP: what they hit may lose the exception, so they are remembered.

A handler raises KeyboardInterrupt wherever the main thread is: in a lock, which then raises a
RuntimeError, in what closes a half-open lab, or in a callback of C code, which may report its own
error or none.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it (128 + SIGINT)."""

_received: list[int] = []
"""Signals whose interruption has not ended its purpose yet; a handler may append to it."""


def end_at_once() -> None:
    """Ctrl-C ends the process, as long as it has made nothing: its modules are imported first."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(INTERRUPTED)


def listen() -> None:
    """Turn the signals into KeyboardInterrupt, but for those that are ignored, as nohup wants."""
    _received.clear()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, _end):
            signal.signal(number, _interrupt)


def refuse_more() -> None:
    """Ignore the signals from now on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt if one was received and lost."""
    if _received:
        raise KeyboardInterrupt


def unless_interrupted(error: BaseException) -> None:
    """Raise KeyboardInterrupt if one was received, or if the error came of one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    if cause is not None or _received:
        raise KeyboardInterrupt from error


@contextmanager
def interrupted_first() -> Iterator[None]:
    """An error of the body that came of an interruption is that interruption."""
    try:
        yield
    except Exception as error:
        unless_interrupted(error)
        raise


class until_interrupted:  # noqa: N801 - as contextlib.suppress
    """A body that an interruption ends as it should."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if interrupted:
            _received.clear()
        return interrupted

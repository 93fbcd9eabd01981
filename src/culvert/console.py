"""A console that foreign text cannot control.

Titles of studies, logs of VPNs and names of files reach the terminal. Escape sequences in them
could recolour it, move its cursor or set its title; direction marks could make one name look like
another. They are removed from printed text, but not from the journal.
"""

from __future__ import annotations

import errno
import json
import os
import re
import select
import sys
from collections.abc import Iterable
from contextlib import suppress
from io import TextIOWrapper

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from culvert.hidden import IN_PYTHON

# Surrogates come from file names that are not UTF-8.
_UNPRINTABLE = re.compile(f"[{IN_PYTHON}\ud800-\udfff]")


def printable(text: str) -> str:
    """The text without hidden characters and those that control a terminal."""
    return _UNPRINTABLE.sub("", text)


class SafeConsole(Console):
    """Rich's console; control characters come from Rich alone."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments as Rich makes them, their text printable."""
        for segment in super().render(renderable, options):
            if segment.control or not _UNPRINTABLE.search(segment.text):
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

    @property
    def is_screen(self) -> bool:
        """Whether lines can be drawn again: FORCE_COLOR makes a log a terminal for Rich."""
        return self.is_terminal and self.file.isatty()

    def on_broken_pipe(self) -> None:
        """Let ``main`` decide what it means; Rich would end the program."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


PIPE_WIDTH = 160
"""Columns without a terminal that reports its width."""


def _standard_output() -> SafeConsole:
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return SafeConsole(highlight=False, width=None if terminal else PIPE_WIDTH)


out = _standard_output()
"""Results."""
err = SafeConsole(stderr=True, highlight=False, soft_wrap=True)
"""Messages about the work itself: errors, interruptions."""


def say(text: str) -> None:
    """A step of work that takes long, on standard error."""
    err.print(text, markup=False, style="dim")


def print_json(value: object) -> None:
    """One JSON document on standard output, in whatever encoding that has."""
    ascii_only = out.encoding != "utf-8"
    text = json.dumps(value, indent=2, default=str, ensure_ascii=ascii_only, allow_nan=False)
    out.file.write(text + "\n")
    out.file.flush()  # here, so that a full disk or a closed pipe is detected


def accept_any_text() -> None:
    """Let standard output and error accept characters that their encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def nobody_reads() -> bool:
    """True if standard output is a pipe without a reader."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return False  # closed, or not a file at all
    poller = select.poll()
    poller.register(descriptor, 0)
    return any(events & select.POLLERR for _, events in poller.poll(0))


def give_up_output() -> None:
    """Discard further output: otherwise Python would report the error again at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

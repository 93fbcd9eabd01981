"""A console that foreign text cannot take over.

Titles of studies, logs of VPNs and names of files reach the terminal. Escape sequences in them
could recolour it, move its cursor or set its title; direction marks could make one name look like
another. What is printed loses them; what is kept in the journal does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls but tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides of direction
    "\ud800-\udfff]"  # halves of characters, from file names that are no UTF-8
)


def printable(text: str) -> str:
    """The text without what would control a terminal. None of it takes a column."""
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

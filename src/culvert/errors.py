"""The one exception tree. Every error names the thing, the reason and the remedy.

::

    CulvertError            1  measured, but a part failed
    ├── UsageError          2  wrong use or bad input
    │   ├── ImpairmentError    what a link cannot do
    │   ├── StudyError         a study file
    │   └── JournalError       a journal that is corrupt, locked or too new
    ├── NotPossible         3  this machine can't do it
    ├── LabError            1  nodes, links, processes on them
    │   ├── DeadlineExceeded   a fact that was not true in time
    │   ├── HostLost           a host that cannot be reached
    │   └── Unreachable        a lab of which nothing can be reached
    ├── VpnError            1  a VPN that ended, refused or never came up
    │   └── DriverError        code of its driver that failed
    └── ProbeError          1  the probe failed or sent an invalid answer
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Self

MOST_WORD = 1000
MOST_TEXT = 8000
"""Characters of a word and of a text in an error: a value that somebody else wrote may be in it."""
_LONG_WORD = re.compile(rf"\S{{{MOST_WORD + 1},}}")


class CulvertError(Exception):
    """An error to show to the user.

    ``what`` names the thing, ``why`` the reason, ``remedy`` what to do about it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, why: str, remedy: str) -> None:
        self.what, self.why, self.remedy = map(shortened, (what, why, remedy))
        super().__init__(f"{self.what}: {self.why}")

    def because(self, why: str) -> Self:
        """An error of the same type for another reason, whatever its type is made of."""
        made = type(self).__new__(type(self))
        made.__dict__ |= self.__dict__ | {"why": shortened(why)}
        made.args = (f"{made.what}: {made.why}",)
        return made


def shortened(text: str) -> str:
    """The text without the middle of a very long word, and without its own if it is very long."""
    words = _LONG_WORD.sub(lambda word: _ends(word[0], MOST_WORD), text)
    return words if len(words) <= MOST_TEXT else _ends(words, MOST_TEXT)


def _ends(text: str, most: int) -> str:
    return f"{text[: most - most // 4]}\u2026{text[-most // 4 :]}"


class UsageError(CulvertError):
    """Wrong use or bad input."""

    exit_code = 2


class ImpairmentError(UsageError):
    """What no link can do, or not this kind of link. ``key`` is that of study files."""

    def __init__(self, key: str, what: str, why: str, remedy: str) -> None:
        super().__init__(what, why, remedy)
        self.key = key


class StudyError(UsageError):
    """A study file that cannot be run. ``all_problems`` are
    all its problems, in the order of the file."""

    def __init__(
        self, what: str, why: str, remedy: str, all_problems: Sequence[StudyError] = ()
    ) -> None:
        super().__init__(what, why, remedy)
        self.all_problems = tuple(all_problems) or (self,)


class JournalError(UsageError):
    """A journal that is corrupt, locked by another run, or from a newer Culvert."""


class NotPossible(CulvertError):
    """This machine cannot do it; the remedy names what it needs."""

    exit_code = 3


class LabError(CulvertError):
    """A node, a link, or a process on a node."""


class DeadlineExceeded(LabError):
    """A fact that was not true before the deadline."""


class HostLost(LabError):
    """A host that cannot be reached, or is not any more."""


class Unreachable(LabError):
    """A lab of which nothing can be reached: no further trial is possible."""


class VpnError(CulvertError):
    """A VPN that ended, refused its configuration, or never came up."""


class DriverError(VpnError):
    """Code of a driver that raised something else than these errors, or did not end."""


class ProbeError(CulvertError):
    """The probe failed, or its answer is invalid."""


def some(names: Sequence[object], most: int = 3) -> str:
    """The first names of a list, and how many more there are."""
    more = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {more} more" if more > 0 else "")

"""The one exception tree. Every error names the thing, the reason and the remedy.

::

    CulvertError            1  measured, but something failed
    ├── UsageError          2  wrong use or bad input
    │   ├── StudyError         a study file
    │   └── JournalError       a journal that is corrupt, locked or too new
    ├── NotPossible         3  this machine can't do it
    ├── LabError            1  nodes, links, processes on them
    │   └── DeadlineExceeded   a fact that did not come about in time
    ├── VpnError            1  a VPN that died, refused or never came up
    └── ProbeError          1  the measuring program failed or spoke nonsense
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class CulvertError(Exception):
    """Something that the user must know about.

    ``what`` names the thing, ``why`` the reason, ``remedy`` what to do about it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why
        self.remedy = remedy


class UsageError(CulvertError):
    """Wrong use or bad input."""

    exit_code = 2


class StudyError(UsageError):
    """A study file that cannot be run as it is. ``all_problems`` is
    each thing wrong with it, in the order of the file."""

    def __init__(
        self, what: str, why: str, remedy: str, all_problems: Sequence[StudyError] = ()
    ) -> None:
        super().__init__(what, why, remedy)
        self.all_problems = tuple(all_problems) or (self,)


class JournalError(UsageError):
    """A journal that is corrupt, locked by another run, or from a newer Culvert."""


class NotPossible(CulvertError):
    """This machine cannot do it; the remedy says what it would take."""

    exit_code = 3


class LabError(CulvertError):
    """A node, a link, or a process on a node."""


class DeadlineExceeded(LabError):
    """A fact that was awaited and did not come about in time."""


class VpnError(CulvertError):
    """A VPN that died, refused its configuration, or never came up."""


class ProbeError(CulvertError):
    """The measuring program failed, or what it said cannot be understood."""

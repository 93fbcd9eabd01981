"""Which of the two ways this process has its privileges by: root's, or a user namespace's.

In a user namespace the effective user id is 0 as well, and the kernel grants what concerns its own
namespaces alone.
"""

from __future__ import annotations

import os
from enum import StrEnum

VARIABLE = "CULVERT_WITHOUT_ROOT"
"""Set by ``culvert-probe rootless``: the id, outside, of the first process of the PID namespace."""


class Privilege(StrEnum):
    """What the kernel grants this process."""

    ROOT = "root"
    OWN_NAMESPACES = "own namespaces"
    NONE = "none"


def privilege() -> Privilege:
    """Of this process, now."""
    if os.geteuid() != 0:
        return Privilege.NONE
    return Privilege.OWN_NAMESPACES if VARIABLE in os.environ else Privilege.ROOT


def is_root() -> bool:
    """True for the machine's root: not for an ordinary user, in namespaces of their own or not."""
    return privilege() is Privilege.ROOT


def init_outside() -> int | None:
    """The id that the first process of our PID namespace has outside; None if it is not ours."""
    given = os.environ.get(VARIABLE, "")
    return int(given) if privilege() is Privilege.OWN_NAMESPACES and given.isdecimal() else None

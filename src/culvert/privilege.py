"""Which of the two ways this process has its privileges by: root's, or a user namespace's.

In a user namespace the effective user id is 0 as well, and the kernel grants what concerns its own
namespaces alone. Either way ``culvert-probe rootless`` gives a command a PID namespace of its own.
"""

from __future__ import annotations

import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path

WITHOUT_ROOT = "CULVERT_WITHOUT_ROOT"
"""Set by ``culvert-probe rootless``: the id, outside, of the first process of the PID namespace."""
AS_ROOT = "CULVERT_AS_ROOT"
"""Set by ``culvert-probe rootless --keep-rights``: the id of that process too."""
_MACHINE_PROC = Path("/run/culvert-proc")
_ROOTS_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where sudo searches, by the ``secure_path`` of distributions: in no virtual environment."""


class Privilege(StrEnum):
    """What the kernel grants this process."""

    ROOT = "root"
    OWN_NAMESPACES = "own namespaces"
    NONE = "none"


def privilege() -> Privilege:
    """Of this process, now."""
    if os.geteuid() != 0:
        return Privilege.NONE
    return Privilege.OWN_NAMESPACES if WITHOUT_ROOT in os.environ else Privilege.ROOT


def is_root() -> bool:
    """True for the machine's root: not for an ordinary user, in namespaces of their own or not."""
    return privilege() is Privilege.ROOT


def init_outside() -> int | None:
    """The id that the first process of our PID namespace has outside; None if it is not ours."""
    given = os.environ.get(AS_ROOT if is_root() else WITHOUT_ROOT, "")
    return int(given) if os.geteuid() == 0 and given.isdecimal() else None


def id_outside() -> int:
    """The process id by which others may end this process: that of the first process of our PID
    namespace, if it is ours."""
    return init_outside() or os.getpid()


def machine_proc() -> Path:
    """The /proc with all processes of the machine, the kernel's threads too, under their ids
    outside of our PID namespace."""
    return _MACHINE_PROC if (_MACHINE_PROC / "stat").exists() else Path("/proc")


def with_sudo(arguments: str) -> str:
    """The command that runs culvert as root, by its path where sudo does not find its name."""
    own = Path(sys.executable).with_name("culvert")
    by_path = own.exists() and shutil.which("culvert", path=_ROOTS_PATH) is None
    return f"sudo {own if by_path else 'culvert'} {arguments}"


def run_as_root() -> str:
    """The remedy of what only root may do: the same command line again."""
    return f"run it as root: {with_sudo('...')}"

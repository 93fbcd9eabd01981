"""System calls that are missing in Python 3.11: mount(2), umount2(2), setns(2)."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from culvert.machine.scratch import CLONE_NEWNET, CLONE_NEWPID

MS_NOSUID = 2
MS_NODEV = 4
MS_BIND = 4096
MS_REC = 16384
MS_SHARED = 1 << 20
MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: Path, kind: str, flags: int = 0, options: str = "") -> None:
    """mount(2); raises OSError."""
    _check(
        _libc.mount(
            source.encode(),
            os.fsencode(target),
            kind.encode(),
            ctypes.c_ulong(flags),
            options.encode(),
        ),
        target,
    )


def unmount(target: Path) -> None:
    """umount2(2) with MNT_DETACH: removed from the tree at once; raises OSError."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), target)


def enter_network(namespace: int) -> None:
    """Move the calling thread only to the network namespace of a descriptor; raises OSError, also
    for a file of another kind."""
    _check(_libc.setns(namespace, CLONE_NEWNET), None)


def enter_processes(namespace: int) -> None:
    """Let processes that the calling thread starts be in the PID namespace of a descriptor; raises
    OSError."""
    _check(_libc.setns(namespace, CLONE_NEWPID), None)


def _check(result: int, path: Path | None) -> None:
    if result != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno), *([] if path is None else [str(path)]))

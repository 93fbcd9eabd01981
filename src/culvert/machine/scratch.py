"""A network namespace of one thread, for trying things.

It has no name and only the thread holds it, so the kernel removes it with everything in it when
the thread ends; there is nothing to clean up after ``kill -9`` either.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
"""sched.h"""

_libc = ctypes.CDLL(None, use_errno=True)


class UnshareRefusedError(OSError):
    """The kernel refused a new namespace."""


def unshare(flags: int) -> None:
    """Move the calling thread to new namespaces: os.unshare, which came with Python 3.12. Raises
    UnshareRefusedError."""
    if _libc.unshare(flags) != 0:
        code = ctypes.get_errno()
        raise UnshareRefusedError(code, os.strerror(code))


def in_scratch(trial: Callable[[], T], flags: int = CLONE_NEWNET) -> T:
    """Return what ``trial`` returns (or raises) in new namespaces, a network one by default.

    Sockets and file descriptors that it opens must be closed when it returns, as they would
    keep the namespace alive. Raises UnshareRefusedError without CAP_SYS_ADMIN.
    """

    def body() -> T:
        unshare(flags)
        return trial()

    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(body).result()

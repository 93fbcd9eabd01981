"""Locks on a run's objects that have no process of their own: the kernel releases them with the
process that made the object, so what nobody holds was left by a killed run."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def hold(descriptor: int) -> None:
    """Hold the file or directory until its descriptor is closed."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_held(path: Path) -> bool:
    """Whether a process holds it; True too if it is gone, or cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False

"""/run/netns, where namespaces are held by name, as ``ip netns add`` prepares it.

iproute2 binds the directory to itself when it makes the first namespace. Done after ours were
mounted, that would hide our mounts under copies, and the names could not be removed any more.
"""

from __future__ import annotations

import errno

from culvert.labs.netns import syscalls
from culvert.labs.netns.places import NAMESPACES


def prepare_names() -> None:
    """Make the directory a shared mount of its own, unless it is one. Raises OSError."""
    NAMESPACES.mkdir(mode=0o755, parents=True, exist_ok=True)
    try:
        _share()
    except OSError as error:
        if error.errno != errno.EINVAL:  # not a mount point yet
            raise
        syscalls.mount(str(NAMESPACES), NAMESPACES, "none", syscalls.MS_BIND | syscalls.MS_REC)
        _share()


def _share() -> None:
    syscalls.mount("", NAMESPACES, "none", syscalls.MS_SHARED | syscalls.MS_REC)

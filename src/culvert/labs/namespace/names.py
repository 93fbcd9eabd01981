"""/run/netns, the directory of named namespaces, prepared as by ``ip netns add``.

iproute2 binds the directory to itself when it creates the first namespace. If Culvert's namespaces
were mounted before, copies would hide their mounts, and the names could not be removed.
"""

from __future__ import annotations

import errno

from culvert.labs.namespace import syscalls
from culvert.labs.namespace.places import NAMESPACES


def prepare_names() -> None:
    """Make the directory a separate shared mount, unless it is one. Raises OSError."""
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

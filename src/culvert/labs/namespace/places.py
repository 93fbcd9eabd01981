"""The places of a run's objects on this machine, by which the clean-up finds all of them.

::

    /run/culvert/RUN.lock       held by the process that owns the run (``claim``)
    /run/culvert/RUN/           the run's own tmpfs: secrets are never written to a disk
    /run/culvert/RUN/NODE/      a node's directory
    /run/netns/culvert-RUN-NODE a node's network namespace
    culvert-RUN-NODE            a node's control group, if it has a CPU quota

CULVERT_RUN=RUN in the environment of a program shows people whose it is; it proves nothing, because
anybody can set it.
"""

from __future__ import annotations

import errno
from pathlib import Path

from culvert.labs.namespace import syscalls

RUNS = Path("/run/culvert")
NAMESPACES = Path("/run/netns")
RUN_VARIABLE = "CULVERT_RUN"


def run_directory(run_id: str) -> Path:
    """The run's directory, on its own tmpfs."""
    return RUNS / run_id


def namespace_name(run_id: str, node: str) -> str:
    """The network namespace's name, as shown by ``ip netns``."""
    return f"culvert-{run_id}-{node}"


def namespace_path(run_id: str, node: str) -> Path:
    """The file on which the network namespace is mounted."""
    return NAMESPACES / namespace_name(run_id, node)


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

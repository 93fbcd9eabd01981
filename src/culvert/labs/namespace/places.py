"""The places of a run's objects on this machine, by which the clean-up finds all of them.

::

    /run/culvert/RUN.owner      a symbolic link whose target names the process that owns the run
    /run/culvert/RUN/           the run's own tmpfs: secrets are never written to a disk
    /run/culvert/RUN/NODE/      a node's directory
    /run/netns/culvert-RUN-NODE a node's network namespace
    culvert-RUN-NODE            a node's control group, if it has a CPU quota

    /run/culvert/RUN/*.process    symbolic links to what the run started outside of its namespaces
    /run/culvert/RUN/*.namespace  symbolic links to the inodes of the nodes' network namespaces

Every process of a run is in one of its namespaces, control groups or mount namespaces (whose /run
is a node's), or is recorded. CULVERT_RUN=RUN in its environment shows people whose it is; it proves
nothing, because anybody can set it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

RUNS = Path("/run/culvert")
NAMESPACES = Path("/run/netns")
RUN_VARIABLE = "CULVERT_RUN"


def run_directory(run_id: str) -> Path:
    """The run's directory, on its own tmpfs."""
    return RUNS / run_id


def links_of(run_id: str, ending: str) -> list[Path]:
    """The links with this ending in the run's directory; none once it is gone."""
    with suppress(OSError):  # glob() looks whether it is there first
        return [link for link in run_directory(run_id).iterdir() if link.name.endswith(ending)]
    return []


def owner_link(run_id: str) -> Path:
    """The link that names the run's owner."""
    return RUNS / f"{run_id}.owner"


def namespace_name(run_id: str, node: str) -> str:
    """The network namespace's name, as shown by ``ip netns``."""
    return f"culvert-{run_id}-{node}"


def namespace_path(run_id: str, node: str) -> Path:
    """The file on which the network namespace is mounted."""
    return NAMESPACES / namespace_name(run_id, node)

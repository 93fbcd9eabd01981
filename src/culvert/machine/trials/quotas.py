"""Whether a node's programs can be held back, as a condition asks that makes one a slow router."""

from __future__ import annotations

from culvert.errors import CulvertError
from culvert.machine import cgroup
from culvert.machine.check import FeatureFinding, missing, present
from culvert.runid import new_run_id

CPUS = 0.5


def cpu_quota() -> FeatureFinding:
    """A control group is made, given a quota and removed."""
    try:
        with cgroup.trial(f"culvert-{new_run_id()}-doctor") as group:
            group.limit(CPUS)
    except CulvertError as error:
        if isinstance(error.__cause__, PermissionError):
            raise error.__cause__ from error  # nobody has tried: it is not known
        return missing(error.why)
    return present(
        f"control groups {group.version} hold programs back, and not what the kernel does itself"
    )

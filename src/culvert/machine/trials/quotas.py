"""Whether a node's programs can be limited, for conditions with a slow router."""

from __future__ import annotations

from culvert.errors import CulvertError
from culvert.machine import cgroup
from culvert.machine.check import FeatureFinding, missing, present
from culvert.runid import new_run_id

CPUS = 0.5


def cpu_quota() -> FeatureFinding:
    """A control group is created, given a quota and removed."""
    try:
        with cgroup.trial(f"culvert-{new_run_id()}-doctor") as group:
            group.limit(CPUS)
    except CulvertError as error:
        if isinstance(error.__cause__, PermissionError):
            raise error.__cause__ from error  # not tried, so unknown
        return missing(error.why)
    return present(f"control groups {group.version} limit programs, but not the kernel's own work")

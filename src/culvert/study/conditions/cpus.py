"""The CPUs that each node gets."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from culvert.errors import NotPossible

_CPU = Path("/sys/devices/system/cpu")


def cores() -> list[tuple[int, ...]]:
    """The CPUs that this process may use, grouped by physical core (hardware threads together)."""
    usable = os.sched_getaffinity(0)
    groups: dict[str, list[int]] = {}
    for cpu in sorted(usable):
        topology = _CPU / f"cpu{cpu}" / "topology"
        try:
            core = (topology / "thread_siblings_list").read_text()
        except OSError:
            core = str(cpu)
        groups.setdefault(core, []).append(cpu)
    return [tuple(group) for group in groups.values()]


def split(cores: Sequence[tuple[int, ...]], nodes: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    """Give each node its own cores, divided as evenly as possible.

    Hardware threads of one core belong to one node, unless there are fewer cores than nodes.
    Raises NotPossible if there are fewer CPUs than nodes.
    """
    groups = list(cores)
    if len(groups) < len(nodes):
        groups = [(cpu,) for group in cores for cpu in group]
    if len(groups) < len(nodes):
        raise NotPossible(
            'cpus = "split"',
            f"{len(nodes)} nodes need {len(nodes)} CPUs, this machine has {len(groups)}",
            'write cpus = "shared" in [lab]',
        )
    shares: dict[str, tuple[int, ...]] = {}
    for index, node in enumerate(nodes):
        first = index * len(groups) // len(nodes)
        end = (index + 1) * len(groups) // len(nodes)
        shares[node] = tuple(sorted(cpu for group in groups[first:end] for cpu in group))
    return shares

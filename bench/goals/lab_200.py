"""A lab of 200 members on a core router: how long until it is up, until it is gone, how large.

Memory is what the machine has less of while the lab is up: namespaces and links are the kernel's,
so that of this process alone would leave out most of it.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import ClassVar

from bench.goal import Goal, Samples
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec

MEMBERS = 200
LABS = 3
UP_S = 15.0
DOWN_S = 10.0
MEMORY_BYTES = 1.5e9
KIB = 1024


class Lab200(Goal):
    """201 namespaces and 200 links; details have the time to take it down and the memory."""

    name: ClassVar[str] = "lab-200"
    what: ClassVar[str] = f"{MEMBERS} members on a core router, up"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = f"under {UP_S:g} s, down under {DOWN_S:g} s, under 1.5 GB"

    def measure(self) -> Samples:
        """Three labs, one after the other."""
        samples = Samples()
        for _ in range(LABS):
            up_s, down_s, memory_bytes = _life()
            samples.ours.append(up_s)
            samples.details.append({"down_s": down_s, "memory_bytes": memory_bytes})
        return samples

    def met(self, samples: Samples) -> bool:
        """The medians of the times; the largest memory, as the kernel may still be giving back
        that of the lab before."""
        down_s = statistics.median(one["down_s"] for one in samples.details)
        memory_bytes = max(one["memory_bytes"] for one in samples.details)
        up_s = statistics.median(samples.ours)
        return up_s < UP_S and down_s < DOWN_S and memory_bytes < MEMORY_BYTES


def _life() -> tuple[float, float, int]:
    """Seconds up and down, bytes while it is up."""
    before = _available_bytes()
    begun = time.monotonic()
    lab = NetnsLab(new_run_id(), LabSpec(topology=mesh(MEMBERS)))
    with lab:
        up_s = time.monotonic() - begun
        memory_bytes = before - _available_bytes()
        ending = time.monotonic()
    return up_s, time.monotonic() - ending, memory_bytes


def _available_bytes() -> int:
    """MemAvailable of proc_meminfo(5)."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    fields = dict(line.split(":") for line in lines)
    return int(fields["MemAvailable"].split()[0]) * KIB

"""Two namespaces and a link: ours against a shell script of ip commands that does the same."""

from __future__ import annotations

import subprocess
import time
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import Samples, alternate
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec

SCRIPT = """set -e
ip netns add culvert-bench-x; ip netns add culvert-bench-y
ip link add u0 netns culvert-bench-x type veth peer name u0 netns culvert-bench-y
ip -n culvert-bench-x addr add 198.18.0.1/24 dev u0
ip -n culvert-bench-y addr add 198.18.0.2/24 dev u0
for n in x y; do ip -n culvert-bench-$n link set u0 up; ip -n culvert-bench-$n link set lo up; done
"""
REMOVE = "ip netns del culvert-bench-x; ip netns del culvert-bench-y"


class LabUp(MedianBelow):
    """Time until two namespaces are joined, offloads off, addresses and neighbours set."""

    name: ClassVar[str] = "lab-up"
    what: ClassVar[str] = "two namespaces and a link"
    peer: ClassVar[str] = "ip(8) script, bare"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 0.2 s"
    limit: ClassVar[float] = 0.2
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("ip", "iproute2"),)

    def measure(self) -> Samples:
        """Fifteen of each."""
        return alternate(_ours, _script, 15)


def _ours() -> float:
    lab = NetnsLab(new_run_id(), LabSpec())
    begun = time.monotonic()
    with lab:
        return time.monotonic() - begun


def _script() -> float:
    begun = time.monotonic()
    try:
        subprocess.run(["sh", "-c", SCRIPT], check=True)
        return time.monotonic() - begun
    finally:
        subprocess.run(["sh", "-c", REMOVE], check=False, stderr=subprocess.DEVNULL)

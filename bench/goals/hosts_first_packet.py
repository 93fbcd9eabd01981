"""From the command to the first packet between two hosts, as a user waits for it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import Samples
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.netns.node import NetnsNode
from culvert.waiting import wait_until

TIMES = 3
LONGEST_S = 60.0
FEW_PACKETS = 3
"""Neighbours and routers are looked for before anything is measured."""
_STUDY = """\
name = "first"
vpns = ["none"]
[[measurement]]
kind = "rtt"
rate = "500/s"
probes = 200
[plan]
blocks = 1
"""


class HostsFirstPacket(MedianBelow):
    """Program start, inventory, connections, copies of the probe, surveys, the lab. No probe is on
    a host before: each run brings its own and removes it."""

    name: ClassVar[str] = "hosts-first-packet"
    what: ClassVar[str] = "culvert run --lab hosts until the first packet between two hosts"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 6 s"
    limit: ClassVar[float] = 6.0
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("sshd", "openssh-server"),)

    def measure(self) -> Samples:
        """Three runs."""
        with DemoHosts() as demo, tempfile.TemporaryDirectory() as directory:
            study = Path(directory) / "first.toml"
            study.write_text(_STUDY)
            words = ["run", str(study), "--lab", "hosts", "--inventory", str(demo.inventory)]
            taken = [
                _first_packet_s(demo.node("a"), [*words, "--out", f"{directory}/run-{number}"])
                for number in range(TIMES)
            ]
        return Samples(ours=taken)


def _first_packet_s(node: NetnsNode, words: list[str]) -> float:
    before, begun = _sent(node), time.monotonic()
    program = Path(sys.executable).with_name("culvert")
    with subprocess.Popen([program, *words], stdout=subprocess.DEVNULL) as run:
        wait_until(
            lambda: _sent(node) > before + FEW_PACKETS,
            what="the first packet between the hosts",
            deadline_s=LONGEST_S,
        )
        taken_s = time.monotonic() - begun
        run.wait()
    return taken_s


def _sent(node: NetnsNode) -> int:
    """Packets that the host has sent to the other (proc_net_dev: the tenth column)."""
    device = node.underlay.device
    shown = node.inside(lambda: Path("/proc/thread-self/net/dev").read_text())
    (line,) = (line for line in shown.splitlines() if line.strip().startswith(f"{device}:"))
    return int(line.partition(":")[2].split()[9])

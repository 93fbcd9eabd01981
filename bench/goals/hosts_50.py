"""Fifty hosts from one controller: prepared, measured in pairs and cleaned by one command."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

import polars as pl

from bench import memory
from bench.goal import Goal, Samples
from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from culvert.topology.shapes import member_names

HOSTS = 50
MOST_BYTES = 500_000_000
SAMPLED_EVERY_S = 0.5
LONGEST_S = 1800
_STUDY = """\
name = "pairs"
vpns = ["none"]
[lab]
topology = "mesh"
members = {members}
paths = {paths}
[[measurement]]
kind = "rtt"
rate = "500/s"
probes = 200
[plan]
blocks = 1
"""


class Hosts50(Goal):
    """Namespaces with an sshd each; details have the time and the trials by status."""

    name: ClassVar[str] = "hosts-50"
    what: ClassVar[str] = f"{HOSTS} hosts in pairs: memory of the controller and its ssh clients"
    unit: ClassVar[str] = "bytes"
    goal: ClassVar[str] = "under 500 MB, every trial ok"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("sshd", "openssh-server"),)

    def measure(self) -> Samples:
        """One run."""
        samples = Samples()
        with DemoHosts(HOSTS) as demo, tempfile.TemporaryDirectory() as directory:
            study, out = Path(directory) / "pairs.toml", Path(directory) / "run"
            names = member_names(HOSTS)
            pairs = [f"{a}>{b}" for a, b in zip(names[::2], names[1::2], strict=True)]
            study.write_text(_STUDY.format(members=HOSTS, paths=json.dumps(pairs)))
            words = ["run", str(study), "--lab", "hosts", "--inventory", str(demo.inventory)]
            begun = time.monotonic()
            most_bytes = _most_bytes([*words, "--out", str(out)])
            seconds = time.monotonic() - begun
            with Journal.open(out) as journal:
                counted = journal.trials().group_by("status").agg(pl.len())
        samples.ours.append(most_bytes)
        samples.details.append({"seconds": seconds, **dict(counted.iter_rows())})
        return samples

    def met(self, samples: Samples) -> bool:
        """The memory, and no trial in trouble."""
        (found,) = samples.details
        return samples.ours[0] < MOST_BYTES and set(found) == {"seconds", "ok"}


def _most_bytes(words: list[str]) -> int:
    """The largest sum of memory of ``culvert`` and its children; what they share counts once."""
    most = 0
    program = Path(sys.executable).with_name("culvert")
    run = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + LONGEST_S
    while run.poll() is None and time.monotonic() < deadline:
        most = max(most, memory.bytes_of(memory.family(run.pid)))
        time.sleep(SAMPLED_EVERY_S)
    run.kill()
    run.wait()
    return most

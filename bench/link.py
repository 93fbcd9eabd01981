"""The rate-limited link on which instruments are compared."""

from __future__ import annotations

from culvert.labs.base import Lab, LabSpec, LinkSpec
from culvert.labs.netns import NetnsLab
from culvert.runid import new_run_id
from culvert.study.cpus import cores, nodes_of, split

RATE_BPS = 100_000_000
SECONDS = 4


def limited_link() -> Lab:
    """A pair on a link of 100 Mbit/s, each node on its own CPUs."""
    spec = LabSpec(link=LinkSpec(rate_bps=RATE_BPS), cpus=split(cores(), nodes_of("pair")))
    return NetnsLab(new_run_id(), spec)

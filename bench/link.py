"""The rate-limited link on which instruments are compared."""

from __future__ import annotations

from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.study.conditions.processors import cores, split
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec

RATE_BPS = 100_000_000
SECONDS = 4


def limited_link(rate_bps: int = RATE_BPS) -> Lab:
    """A pair on a link of 100 Mbit/s (or another rate), each node on its own CPUs."""
    return _pair(LinkSpec(rate_bps=rate_bps))


def fast_link() -> Lab:
    """A pair on a link without a limit, each node on its own CPUs; offloads are off."""
    return _pair(LinkSpec())


def shared_link() -> Lab:
    """A pair on a link without a limit, both nodes on all CPUs: for what must not wait for one."""
    return NetnsLab(new_run_id(), LabSpec(link=LinkSpec()))


def one_core_link() -> Lab:
    """A pair on a link without a limit, both nodes on one core: no other has to be woken up, which
    in a guest takes longer than the round trip. What is compared is the programs."""
    core = cores()[-1]
    return NetnsLab(new_run_id(), LabSpec(link=LinkSpec(), cpus={"a": core, "b": core}))


def _pair(link: LinkSpec) -> Lab:
    return NetnsLab(new_run_id(), LabSpec(link=link, cpus=split(cores(), ("a", "b"))))

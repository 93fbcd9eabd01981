"""A thousand clients of one gateway: the lab, and the VPN beside it, up and down."""

from __future__ import annotations

import statistics
import time
from typing import ClassVar

from bench.goal import Goal, Samples
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.lifecycle import bring_up

CLIENTS = 1000
LABS = 3
UP_S = 30.0
VPN_S = 60.0
DOWN_S = 10.0


class Lab1000(Goal):
    """1,002 namespaces, 1,001 links; needs fs.inotify.max_user_instances of more than 1,001."""

    name: ClassVar[str] = "lab-1000"
    what: ClassVar[str] = f"{CLIENTS} clients on a star, up"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = (
        f"under {UP_S:g} s, wireguard/go in under {VPN_S:g} s, down under {DOWN_S:g} s"
    )

    def measure(self) -> Samples:
        """Three labs, one after the other."""
        samples = Samples()
        for _ in range(LABS):
            up_s, vpn_s, down_s = _life()
            samples.ours.append(up_s)
            samples.details.append({"vpn_s": vpn_s, "down_s": down_s})
        return samples

    def met(self, samples: Samples) -> bool:
        """The medians."""
        vpn_s = statistics.median(one["vpn_s"] for one in samples.details)
        down_s = statistics.median(one["down_s"] for one in samples.details)
        return statistics.median(samples.ours) < UP_S and vpn_s < VPN_S and down_s < DOWN_S


def _life() -> tuple[float, float, float]:
    """Seconds until the lab is up, then the VPN; and until the lab is gone."""
    begun = time.monotonic()
    with NetnsLab(new_run_id(), LabSpec(topology=star(CLIENTS))) as lab:
        up_s = time.monotonic() - begun
        vpn = registry.create(registry.parse("wireguard/go"))
        begun = time.monotonic()
        try:
            vpn.prepare(lab)
            bring_up(vpn)
            vpn_s = time.monotonic() - begun
        finally:
            vpn.stop(lab)
        begun = time.monotonic()
    return up_s, vpn_s, time.monotonic() - begun

"""A WireGuard tunnel up and proved."""

from __future__ import annotations

import time
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import Samples
from culvert.errors import VpnError
from culvert.labs.netns.lab import NetnsLab
from culvert.probe.client import Probe
from culvert.run.trials.stage import before
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from culvert.vpns import registry
from culvert.vpns.lifecycle import bring_up

VPN = "wireguard/go"


class WireGuardProved(MedianBelow):
    """From nothing at all: namespaces, link, keys, two daemons, handshake, canary, proof."""

    name: ClassVar[str] = "wireguard-proved"
    what: ClassVar[str] = "a WireGuard tunnel up and proved, the lab included"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 1 s"
    limit: ClassVar[float] = 1.0
    vpns: ClassVar[tuple[str, ...]] = (VPN,)

    def measure(self) -> Samples:
        """Seven times."""
        return Samples(ours=[_once() for _ in range(7)])


def _once() -> float:
    vpn = registry.create(registry.parse(VPN))
    begun = time.monotonic()
    with NetnsLab(new_run_id(), LabSpec()) as lab:
        try:
            vpn.prepare(lab)
            bring_up(vpn)
            with Probe(lab.a) as a, Probe(lab.b) as b:
                checks = before(Session(lab, vpn, lab.path, a, b))
            took_s = time.monotonic() - begun
        finally:
            vpn.stop(lab)
    failed = [check for check in checks if not check.passed]
    if failed:
        raise VpnError(VPN, f"not proved: {failed[0].detail}", failed[0].remedy)
    return took_s

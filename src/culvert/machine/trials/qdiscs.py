"""Queueing disciplines, tried on an interface of the scratch namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyroute2 import IPRoute

from culvert.machine.check import FeatureFinding, present

DEVICE = "cvscratch0"
ROOT_HANDLE = 0x10000


def qdisc(kind: str, **parameters: Any) -> Callable[[], FeatureFinding]:
    """A trial that puts the qdisc (with pyroute2's parameters) on one end of a veth pair."""

    def trial() -> FeatureFinding:
        with IPRoute() as ip:
            ip.link("add", ifname=DEVICE, kind="veth", peer="cvscratch1")
            (index,) = ip.link_lookup(ifname=DEVICE)
            ip.tc("add", kind, index, ROOT_HANDLE, **parameters)
        return present("was set on an interface")

    return trial

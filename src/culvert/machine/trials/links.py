"""Kinds of network interface, tried by creating one."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from culvert.machine.check import FeatureFinding, present
from culvert.machine.verdict import ABSENT

DEVICE = "cvscratch0"


def link(kind: str, **attributes: Any) -> Callable[[], FeatureFinding]:
    """A trial that creates an interface of ``kind`` (IFLA_INFO_KIND) and checks that it exists."""

    def trial() -> FeatureFinding:
        with IPRoute() as ip:
            _add(ip, kind, attributes)
        return present("an interface was created")

    return trial


def first_of(*kinds: str) -> Callable[[], FeatureFinding]:
    """A trial of equivalent kinds (such as in-tree ovpn and the older ovpn-dco-v2)."""

    def trial() -> FeatureFinding:
        with IPRoute() as ip:
            for kind in kinds[:-1]:
                try:
                    _add(ip, kind, {})
                except NetlinkError as error:
                    if error.code not in ABSENT:
                        raise
                else:
                    return present(f"an interface of kind {kind} was created")
            _add(ip, kinds[-1], {})
        return present(f"an interface of kind {kinds[-1]} was created")

    return trial


def _add(ip: IPRoute, kind: str, attributes: dict[str, Any]) -> None:
    ip.link("add", ifname=DEVICE, kind=kind, **attributes)
    if not ip.link_lookup(ifname=DEVICE):
        raise NetlinkError(errno.EOPNOTSUPP, f"no interface of kind {kind} was created")

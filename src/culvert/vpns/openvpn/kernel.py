"""OpenVPN's data channel in the kernel: which module there is, and which OpenVPN speaks to it.

``ovpn`` came with Linux 6.16 and wants OpenVPN 2.7; ``ovpn-dco-v2`` is built out of tree, for 2.6.
"""

from __future__ import annotations

from functools import cache

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from culvert.machine.scratch import in_scratch

IN_TREE = "ovpn"
OUT_OF_TREE = "ovpn-dco-v2"
_DEVICE = "cvovpn0"


@cache
def kernel_kind() -> str | None:
    """The kind of interface that this kernel makes, in tree before out of tree; None if neither.

    Needs root; without it None.
    """
    try:
        return in_scratch(_first_made)
    except OSError:
        return None


def speaks(version: tuple[int, int], kind: str) -> bool:
    """Whether an OpenVPN of that version drives that kind."""
    return version >= (2, 7) if kind == IN_TREE else version == (2, 6)


def _first_made() -> str | None:
    with IPRoute() as netlink:
        for kind in (IN_TREE, OUT_OF_TREE):
            try:
                netlink.link("add", ifname=_DEVICE, kind=kind)
            except NetlinkError:
                continue
            if netlink.link_lookup(ifname=_DEVICE):
                return kind
    return None

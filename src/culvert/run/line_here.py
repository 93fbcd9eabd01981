"""On which side of the line between kernel and user space a VPN works, by its driver."""

from __future__ import annotations

from collections.abc import Iterable

from culvert.analysis.line import NO_LINE, Line
from culvert.errors import CulvertError
from culvert.labs.vm.inside import guest
from culvert.vpns import registry
from culvert.vpns.base import DataPath


def line_of(why: str, vpns: Iterable[str]) -> Line:
    """The line in results with that label (empty: there is none), among these VPNs."""
    if not why:
        return NO_LINE
    sides = ((vpn, _side(vpn)) for vpn in vpns)
    return Line(why, {vpn: str(side) for vpn, side in sides if side is not None})


def line_here(vpns: Iterable[str]) -> Line:
    """The line in what is measured by this process."""
    found = guest()
    return line_of(found.not_comparable if found else "", vpns)


def _side(vpn: str) -> DataPath | None:
    """None for one that is not installed any more."""
    try:
        path = registry.create(registry.parse(vpn)).data_path
    except CulvertError:
        return None
    return DataPath.KERNEL if path is DataPath.NONE else path

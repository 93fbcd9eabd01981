"""The line between figures that are not comparable with each other on this machine: in some guests
the kernel and user space run at different speeds. The drivers state each VPN's data path."""

from __future__ import annotations

from collections.abc import Iterable

from culvert.analysis.line import Line, line_of
from culvert.errors import CulvertError
from culvert.labs.guest import guest
from culvert.vpns import registry


def line_here(vpns: Iterable[str]) -> Line:
    """The line for measurements of this process."""
    found = guest()
    if found is None:
        return line_of("", {})
    paths = ((vpn, _data_path(vpn)) for vpn in vpns)
    return line_of(found.not_comparable, {vpn: path for vpn, path in paths if path is not None})


def _data_path(vpn: str) -> str | None:
    """The data path of a VPN; None if the VPN cannot be used here."""
    try:
        return str(registry.create(registry.parse(vpn)).data_path)
    except CulvertError:
        return None

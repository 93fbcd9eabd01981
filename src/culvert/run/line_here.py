"""The line between kernel and user space on this machine, by the drivers of what is measured."""

from __future__ import annotations

from collections.abc import Iterable

from culvert.analysis.line import Line, line_of
from culvert.errors import CulvertError
from culvert.labs.vm.inside import guest
from culvert.vpns import registry


def line_here(vpns: Iterable[str]) -> Line:
    """The line in what is measured by this process."""
    found = guest()
    if found is None:
        return line_of("", {})
    paths = ((vpn, _data_path(vpn)) for vpn in vpns)
    return line_of(found.not_comparable, {vpn: path for vpn, path in paths if path is not None})


def _data_path(vpn: str) -> str | None:
    """None for one that cannot be used here."""
    try:
        return str(registry.create(registry.parse(vpn)).data_path)
    except CulvertError:
        return None

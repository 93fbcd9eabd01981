"""Whether the processors of machines may exceed their base clock. It is a setting of the whole
machine: read, never changed."""

from __future__ import annotations

from collections.abc import Iterable

from culvert.errors import NotPossible
from culvert.labs.host import Host
from culvert.machine.record.cpu import BOOST, NO_TURBO, read_boost
from culvert.machine.tree import integer


def require_turbo(wanted: bool, hosts: Iterable[Host]) -> None:
    """Raise NotPossible unless the processors of all these machines are known to be so."""
    for host in hosts:
        found = turbo(host)
        if found is wanted:
            continue
        state = {None: "is not reported", True: "is on", False: "is off"}[found]
        raise NotPossible(
            f"turbo = {str(wanted).lower()}",
            f"the turbo boost of {host.name} {state}",
            f"write {int(not wanted)} to {NO_TURBO} there, or {int(wanted)} to {BOOST}, and go on "
            "with --resume and --only; or leave turbo out",
        )


def turbo(host: Host) -> bool | None:
    """None: the machine does not report it; a guest seldom does."""

    def number(path: str) -> int | None:
        try:
            return integer(host.text(path))
        except OSError:
            return None

    return read_boost(number)

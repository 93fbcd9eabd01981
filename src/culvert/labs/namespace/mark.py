"""A mark in each node's namespace, which proves whose it is without a file of the run.

It is the alias of the namespace's loopback (ip link set dev lo alias): only who administers the
namespace can write it. ::

    culvert RUN NODE OWNER INODE

The inode is that of the namespace itself, so that a copy proves nothing.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from culvert.labs.namespace import syscalls
from culvert.labs.namespace.owner import Owner
from culvert.labs.namespace.places import namespace_name
from culvert.runid import RUN_ID

_LOOPBACK = 1
_TEXT = re.compile(rf"culvert ({RUN_ID}) ([a-z0-9-]+) ([0-9]+\.[0-9]+\.[0-9a-f-]+) ([0-9]+)")


@dataclass(frozen=True)
class Mark:
    """What a run wrote into one of its namespaces."""

    run_id: str
    node: str
    owner: Owner
    inode: int

    def __str__(self) -> str:
        return f"culvert {self.run_id} {self.node} {self.owner} {self.inode}"

    @classmethod
    def parse(cls, text: str) -> Mark | None:
        """From its text; None for any other."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        run_id, node, owner, inode = found.groups()
        return cls(run_id, node, Owner.parse(owner), int(inode))

    def put(self, netlink: Any) -> None:
        """Write it into the namespace of a pyroute2.IPRoute. Raises NetlinkError."""
        netlink.link("set", index=_LOOPBACK, IFLA_IFALIAS=str(self))

    def proves(self, path: Path) -> bool:
        """Whether a file is the namespace that it was written for, under its name."""
        with suppress(OSError):
            named = path.name == namespace_name(self.run_id, self.node)
            return named and path.stat().st_ino == self.inode
        return False


def of(path: Path) -> Mark | None:
    """The mark of a namespace with a name; None if it has none that is its own, or is no namespace
    that this user may enter."""
    found: list[str] = []
    # Namespaces belong to threads: this one's stays as it is.
    reader = threading.Thread(target=_read, args=(path, found), daemon=True)
    reader.start()
    reader.join()
    mark = Mark.parse(found[0]) if found else None
    return mark if mark is not None and mark.proves(path) else None


def _read(path: Path, found: list[str]) -> None:
    with suppress(OSError, NetlinkError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            syscalls.enter_network(descriptor)
        finally:
            os.close(descriptor)
        with IPRoute() as netlink:
            (loopback,) = netlink.get_links(_LOOPBACK)
        found.append(loopback.get_attr("IFLA_IFALIAS") or "")

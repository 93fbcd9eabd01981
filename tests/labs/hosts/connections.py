"""Connections that must succeed."""

from __future__ import annotations

from collections.abc import Iterable

from culvert.errors import CulvertError
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.listed.inventory import HostEntry


def connect(fleet: Fleet, entries: Iterable[HostEntry]) -> list[SshHost]:
    """Raises the first host's error."""
    hosts = []
    for outcome in fleet.try_to_connect(entries):
        if isinstance(outcome, CulvertError):
            raise outcome
        hosts.append(outcome)
    return hosts

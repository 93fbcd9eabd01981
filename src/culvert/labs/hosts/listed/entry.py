"""A host of an inventory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class HostEntry:
    """How to reach a host, and what it is for.

    ``destination`` is what OpenSSH gets: a name of its configuration, or an address. ``port``,
    ``user`` and ``key_file`` None: as OpenSSH's configuration has them. ``arguments`` are further
    arguments of ssh. ``sudo_password`` is never shown. ``measured`` is the address of the measured
    link; None: the one that the other host is reached from. ``nodes`` are the nodes of a topology,
    or the roles, that this host may be; empty: any. ``shared_links`` are names of links that this
    host shares with others: paths over them are not measured at the same time.
    """

    name: str
    destination: str
    port: int | None = None
    user: str | None = None
    key_file: str | None = None
    arguments: tuple[str, ...] = ()
    sudo_password: str | None = field(default=None, repr=False)
    measured: str | None = None
    nodes: tuple[str, ...] = ()
    shared_links: tuple[str, ...] = ()
    tools: str = "/var/lib/culvert/tools"
    """The directory on the host into which the Ansible roles put programs."""
    inventory: Path = Path("hosts.yml")
    """The file that names it."""
    variables: Mapping[str, object] = field(default_factory=dict, repr=False)
    """All of Ansible's variables, for the installation."""

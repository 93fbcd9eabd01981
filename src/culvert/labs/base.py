"""What a lab gives: nodes that run commands, and the links under them.

A VPN driver and a measurement see only these classes, so that a study runs unchanged in
namespaces, guests, on hosts and in Kubernetes.

::

    pair      a ──────────────── b        198.18.0.0/24

    routed    a ──── router ──── b        198.18.0.0/24, 198.18.1.0/24
                  (nftables: firewall, NAT)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import IO, Any, ClassVar

from culvert.labs.link.witness import Witness
from culvert.topology.spec import Attachment, LabSpec


@dataclass(frozen=True)
class LinkState:
    """An interface as the kernel tells it. ``kind`` is IFLA_INFO_KIND, such as tun or wireguard."""

    name: str
    kind: str
    mtu: int
    up: bool
    addresses: tuple[IPv4Interface, ...]


@dataclass(frozen=True)
class Completed:
    """A command that has ended."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Usage:
    """What a process has used since it was started, all its threads together."""

    cpu_ns: int
    voluntary_switches: int
    involuntary_switches: int
    peak_memory_bytes: int


class Process(ABC):
    """A process on a node, in a process group of its own, ended by us."""

    name: str
    log: Path
    """Standard error, and standard output unless it is a pipe."""
    started_monotonic_ns: int
    """CLOCK_MONOTONIC just before the program was executed."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """Process id on the node."""

    @property
    @abstractmethod
    def stdin(self) -> IO[bytes]:
        """Pipe to the process; only if it was spawned with pipes."""

    @property
    @abstractmethod
    def stdout(self) -> IO[bytes]:
        """Pipe from the process; only if it was spawned with pipes."""

    @abstractmethod
    def alive(self) -> bool:
        """True while it runs."""

    @abstractmethod
    def returncode(self) -> int | None:
        """Exit code, negative for a signal, None while it runs."""

    @abstractmethod
    def stop(self, *, grace_s: float = 2.0) -> None:
        """SIGTERM to its group, SIGKILL after the grace; returns when it is gone."""

    def usage(self) -> Usage | None:
        """What it has used until now; None where the lab cannot tell, or it has ended."""
        return None

    def log_text(self) -> str:
        """What it has written to its log so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Node(ABC):
    """A place that can run commands and hold an interface."""

    name: str
    directory: Path
    """The node's own directory, mode 0700: configuration, secrets, logs. Gone with the lab."""
    underlay: Attachment
    cpus: tuple[int, ...] | None

    @abstractmethod
    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        pipes: bool = False,
    ) -> Process:
        """Start a program on the node; raises NotPossible where the program is missing."""

    @abstractmethod
    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 10.0,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program to its end; raises LabError if ``check`` and it fails."""

    @abstractmethod
    def write(self, path: str, text: str | bytes, *, secret: bool = False) -> Path:
        """Write a file below ``directory`` (mode 0600 if secret, else 0644); return its path."""

    @abstractmethod
    def file(self, path: str) -> Path:
        """Where an absolute path of the node's own view (such as /run/x.sock) is seen from here.

        Only /run (and so /var/run) and /etc/resolv.conf are a node's own.
        """

    @abstractmethod
    def link(self, device: str) -> LinkState | None:
        """The interface, or None if the node has none of that name."""

    @abstractmethod
    def wait_link(self, device: str, *, deadline_s: float = 5.0) -> LinkState:
        """Wait (on a netlink event) until the interface exists; raises DeadlineExceeded."""

    @abstractmethod
    def add_address(self, device: str, address: IPv4Interface) -> None:
        """Give the interface an address."""

    @abstractmethod
    def set_link(self, device: str, *, up: bool | None = None, mtu: int | None = None) -> None:
        """Bring an interface up or down, set its MTU."""

    @abstractmethod
    def add_link(self, device: str, kind: str, **attributes: object) -> None:
        """Create an interface; ``attributes`` are pyroute2's (vxlan_id, vxlan_group ...)."""

    @abstractmethod
    def del_link(self, device: str) -> None:
        """Remove an interface; no error if there is none."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What the node's end of the underlay is, read back from the kernel, as JSON's types."""

    def device_facts(self, device: str) -> Mapping[str, Any]:
        """The same of any interface; empty where there is none, or the lab cannot tell."""
        del device
        return {}

    @abstractmethod
    def add_route(
        self,
        destination: IPv4Network,
        *,
        device: str | None = None,
        gateway: IPv4Address | None = None,
    ) -> None:
        """Add a route to the main table."""


class Lab(ABC):
    """Nodes a and b (and a router between them, if routed). A context manager: leaving removes it.

    Everything created carries ``run_id``.
    """

    shared_kernel: ClassVar[bool]
    """True if all nodes run on one kernel, whose CPU times then cover both."""
    run_id: str
    spec: LabSpec
    a: Node
    b: Node
    router: Node | None

    def faults(self) -> Sequence[str]:
        """What the links did since they were made that nobody asked of them, in words."""
        return ()

    def witness(self, node: Node) -> Witness | None:
        """Of the link that node a or b is attached to; None where the link is not one."""
        del node
        return None

    def obstacles(self) -> Sequence[str]:
        """What the underlay has kept from passing because the lab asks for it, in words."""
        return ()

    @abstractmethod
    def open(self) -> None:
        """Make nodes and links; on an error nothing is left."""

    @abstractmethod
    def close(self) -> None:
        """End every process on the nodes, remove nodes, links and directories."""

    def __enter__(self) -> Lab:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

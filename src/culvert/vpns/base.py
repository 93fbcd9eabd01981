"""The contract between Culvert and a VPN. A driver is a small class in a file of its own.

The life of a tunnel, each step of which a driver gives::

    prepare()   keys and configuration on both nodes            (not timed)
    listen()    the responder (node b) is ready to be called     (not timed)
    connect()   the initiator (node a) is started; returns when the tunnel is up: a fact
    stop()      every process is ended, every interface gone

Between connect() and stop() the lab asks the driver what it needs for the proof: the interface,
which packets on the underlay are the tunnel's, which of them are its handshake, how long an outer
packet is for an inner one, and which processes carry the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Interface
from typing import ClassVar

from culvert.errors import NotPossible
from culvert.labs.base import Lab, Node, Process

INNER = {"a": IPv4Interface("198.19.0.1/24"), "b": IPv4Interface("198.19.0.2/24")}
"""Addresses inside the tunnel (RFC 2544's benchmarking range, as the underlay's are)."""

LEAVE_OUT = "leave this event out for this VPN"


class DataPath(StrEnum):
    """Where packets are encrypted: determined from the kernel, never assumed."""

    NONE = "none"
    USER = "user space"
    KERNEL = "kernel"


@dataclass(frozen=True)
class Variant:
    """One way to run a VPN. ``facts`` are what a reader should know (cipher, key exchange ...)."""

    name: str
    summary: str
    facts: Mapping[str, str] = field(default_factory=dict)
    encrypts: bool = True
    integrity_only: bool = False
    """It is meant to protect against changes and not against readers (AH, ESP without cipher): its
    packets are proved, and their clear text is expected."""


@dataclass(frozen=True)
class OuterFlow:
    """Which packets on the underlay belong to the tunnel: an IP protocol and, if it has ports,
    one of these ports at either end; ``also`` other protocols, such as IKE beside ESP.

    ``decrypts_there``: the kernel shows what it has decrypted as packets that the underlay's
    device receives, as IPsec does that has no device of its own. What a link carries is then seen
    where it is sent only.
    """

    protocol: int
    ports: frozenset[int] = frozenset()
    also: tuple[OuterFlow, ...] = ()
    decrypts_there: bool = False

    def has(self, packet: OuterPacket) -> bool:
        """Whether the packet is one of the tunnel's."""
        ends = {packet.source_port, packet.destination_port}
        own = packet.protocol == self.protocol and (not self.ports or bool(self.ports & ends))
        return own or any(flow.has(packet) for flow in self.also)


@dataclass(frozen=True)
class OuterPacket:
    """A packet of the underlay as the capture saw it.

    ``length`` is that of the IP packet in bytes; ``payload`` the first bytes behind the UDP or TCP
    header (or behind the IP header for other protocols); ``outgoing`` as seen from node a.
    """

    timestamp_ns: int
    outgoing: bool
    protocol: int
    source_port: int
    destination_port: int
    length: int
    payload: bytes


@dataclass(frozen=True)
class Missing:
    """Something that a driver needs and this machine lacks."""

    what: str
    remedy: str

    @property
    def installable(self) -> bool:
        """Whether installing the VPN brings it; a feature of the kernel, for one, it does not."""
        return self.remedy.startswith("culvert install")


class Vpn(ABC):
    """One VPN implementation, in one variant, with options, on one lab.

    An instance serves one tunnel. Subclasses keep what they start in ``self.processes``.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    variants: ClassVar[tuple[Variant, ...]]
    options: ClassVar[Mapping[str, str]] = {}
    """Options that a study can add to a variant, as in ``openvpn/aes-256-gcm+tcp``."""
    listed_with: ClassVar[tuple[str, ...]] = ()
    """Options that make another VPN of a variant: ``culvert vpns`` lists it with each as well."""
    role: ClassVar[str | None] = None
    """The Ansible role (a folder of ansible/roles) that installs it; None: nothing to install."""
    up_deadline_s: ClassVar[float] = 10.0
    no_initiation: ClassVar[str] = ""
    """Why there is no initiation that could be measured; empty where there is one."""
    rekey_deadline_s: ClassVar[float] = 10.0
    """The longest that rekey() takes: some wait until the VPN renews its keys by itself."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        self.variant = variant
        self.chosen = options
        self.processes: dict[str, list[Process]] = {"a": [], "b": []}

    @property
    def id(self) -> str:
        """The words a study uses: ``name/variant+option``."""
        base = self.name if self.variant.name == self.name else f"{self.name}/{self.variant.name}"
        return "+".join((base, *sorted(self.chosen)))

    # -- what it takes ---------------------------------------------------------------------------

    @abstractmethod
    def missing(self) -> list[Missing]:
        """What this machine lacks for this variant and these options; empty if it can run."""

    @abstractmethod
    def version(self) -> str:
        """The version of the program that will run, as precise as it can be told."""

    # -- the life of a tunnel --------------------------------------------------------------------

    @abstractmethod
    def prepare(self, lab: Lab) -> None:
        """Write keys (secret=True) and configuration to the nodes."""

    @abstractmethod
    def listen(self, b: Node) -> None:
        """Start the responder and wait for the fact that it can be called."""

    @abstractmethod
    def connect(self, a: Node) -> None:
        """Start the initiator and wait for the fact that the tunnel is up.

        Raises VpnError with the last lines of the log if it dies or does not come up in time.
        """

    def disconnect(self, a: Node) -> None:
        """End the initiator so that connect() is a cold start again; the responder may stay."""
        self._stop_processes(a)

    def stop(self, lab: Lab) -> None:
        """End both sides and leave no process, interface, rule or route."""
        for node in (lab.a, lab.b):
            self._stop_processes(node)

    # -- what can happen to a tunnel that is up; a driver gives what it can ------------------------

    def end_responder(self, b: Node) -> None:
        """End the responder's processes; the initiator is told nothing. listen() starts it anew."""
        self._end(b)

    def end_initiator(self, a: Node) -> None:
        """End the initiator's processes; the responder is told nothing, and forgets nothing.

        connect() starts it anew. Returns when the responder's guard against replays, where it has
        one, would let the next handshake pass.
        """
        self._end(a)

    def drop(self, a: Node) -> None:
        """End the tunnel, not the processes: both ends forget their keys.

        Raises NotPossible where nobody can ask for it.
        """
        del a
        raise NotPossible(self.id, "has no tunnel apart from its processes", LEAVE_OUT)

    def initiate(self, a: Node) -> None:
        """Bring the tunnel up again after drop(): returns when it is up, as connect() does."""
        del a
        raise NotPossible(self.id, "has no tunnel apart from its processes", LEAVE_OUT)

    def rekey(self, a: Node) -> None:
        """Negotiate new keys for the tunnel that is up; returns when they are agreed.

        Now, where the VPN can be asked to; else when it does so by itself, within
        ``rekey_deadline_s``. Raises NotPossible where it does not.
        """
        del a
        raise NotPossible(self.id, "renews no keys", LEAVE_OUT)

    # -- what the proof asks ---------------------------------------------------------------------

    def inner(self, node: Node) -> IPv4Interface:
        """The node's address inside the tunnel."""
        return INNER[node.name]

    @abstractmethod
    def interface(self, node: Node) -> str:
        """The device that inner packets go through."""

    @property
    @abstractmethod
    def data_path(self) -> DataPath:
        """What this variant claims to be; the proof compares it with ``determine_data_path``."""

    @abstractmethod
    def determine_data_path(self, node: Node) -> DataPath:
        """What it is, told by the kernel (the interface's kind, security associations ...)."""

    @property
    @abstractmethod
    def outer_flow(self) -> OuterFlow | None:
        """The tunnel's packets on the underlay; None for the baseline."""

    @abstractmethod
    def outer_length(self, inner_length: int) -> int | None:
        """Length in bytes of the outer IP packet(s) that carry an inner IP packet of
        ``inner_length`` bytes without fragmentation; None where packets do not map one to one
        (a tunnel over TCP)."""

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Whether a packet of the outer flow belongs to the handshake."""
        del packet
        return False

    cpu_attributable: bool = True
    """Whether processes and kernel threads tell what it uses of the processors: not where the
    kernel encrypts in softirq and in the sender's own time."""
    kernel_threads: tuple[str, ...] = ()
    """Regular expressions for names of kernel threads that carry the data."""

    # -- shared ----------------------------------------------------------------------------------

    def _end(self, node: Node) -> None:
        if not self.processes[node.name]:
            raise NotPossible(self.id, "has no process that could be restarted", LEAVE_OUT)
        self._stop_processes(node)

    def _stop_processes(self, node: Node) -> None:
        for process in reversed(self.processes[node.name]):
            process.stop()
        self.processes[node.name].clear()


def underlay_address(node: Node) -> IPv4Address:
    """The node's address on the underlay."""
    return node.underlay.address.ip

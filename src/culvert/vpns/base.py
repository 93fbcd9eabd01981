"""The contract between Culvert and a VPN. A driver is a small class in its own file.

The life of a VPN on a lab; a driver implements each step::

    prepare()   keys and configuration of every node             (not timed)
    serve()     each server that it needs is ready                (not timed)
    join()      each member runs, and accepts connections         (not timed)
    reach()     a path carries packets: a fact
    stop()      every process is ended, every interface removed

While it is up, the proof uses the driver's declarations: the interface, which packets on the
underlay are the VPN's, which of them are its handshake, how long an outer packet is for an inner
one, which route a path's packets take, and which processes carry the data.

VPNs with two ends derive from ``culvert.vpns.tunnel.TunnelVpn``; the most common form derives from
``culvert.vpns.program.TunProgram``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ipaddress import IPv4Interface, IPv6Interface
from itertools import combinations
from typing import ClassVar

from culvert.errors import NotPossible, VpnError
from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.topology.graph import Path, Role
from culvert.topology.ip import LONGER_IPV6, Address, IpVersion
from culvert.topology.plan import TUNNELS_IPV6
from culvert.vpns.outer import OuterFlow, OuterPacket
from culvert.vpns.running import RunsPrograms
from culvert.vpns.variant import (
    DIRECT,
    LEAVE_OUT,
    DataPath,
    Missing,
    Route,
    Variant,
)

ONLY_IPV4 = frozenset({IpVersion.V4})
"""``underlays`` of a driver."""
_SMALL = 24
_MOST_IN_SMALL = 250
_AT_ONCE = 16


class Vpn(RunsPrograms):
    """One VPN implementation, in one variant, with options, on one lab.

    An instance serves one lab.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    variants: ClassVar[tuple[Variant, ...]]
    options: ClassVar[Mapping[str, str]] = {}
    """Options that a study can add to a variant, as in ``openvpn/aes-256-gcm+tcp``."""
    listed_with: ClassVar[tuple[str, ...]] = ()
    """Options that make a variant a different VPN: ``culvert vpns`` also lists it with each of
    them."""
    joins_together: ClassVar[bool] = False
    """Whether join() and enter() may run for several members at the same time."""
    role: ClassVar[str | None] = None
    """The Ansible role (a folder of ansible/roles) that installs it; None: nothing to install."""
    underlays: frozenset[IpVersion] = frozenset(IpVersion)
    """Versions of IP below the VPN that it supports."""
    no_initiation: ClassVar[str] = ""
    """Why no initiation can be measured; empty if one can."""
    on_demand: ClassVar[bool] = False
    """Whether a packet for the tunnel brings it up, without any command. Then a warm start is the
    first packet after drop(), and resume() is not called."""
    tables: ClassVar[frozenset[str]] = frozenset()
    """Numbers of routing tables that its programs use; they are not configurable."""
    firewall_tables: ClassVar[frozenset[str]] = frozenset()
    """Names of tables of nftables that its programs create, of families ip and ip6."""
    rekey_deadline_s: ClassVar[float] = 10.0
    """Longest duration of rekey(): with some VPNs it waits until they renew their keys
    themselves."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.variant = variant
        self.chosen = options
        self._lab: Lab | None = None

    @property
    def id(self) -> str:
        """The name in a study: ``name/variant+option``."""
        base = self.name if self.variant.name == self.name else f"{self.name}/{self.variant.name}"
        return "+".join((base, *sorted(self.chosen)))

    @property
    def lab(self) -> Lab:
        """The lab, from prepare() on."""
        if self._lab is None:
            raise NotPossible(self.id, "is on no lab yet", "call prepare(lab) first")
        return self._lab

    # -- requirements ------------------------------------------------------------------------------

    @property
    def needs(self) -> tuple[Role, ...]:
        """Servers that this variant needs in addition to its members: control server, relay."""
        return self.variant.needs

    @abstractmethod
    def missing(self, host: Host) -> list[Missing]:
        """What this variant and these options need and a machine does not have."""

    @abstractmethod
    def version(self, host: Host) -> str:
        """The version of the program that will run there, as precisely as it is known."""

    def most_members(self) -> int | None:
        """Largest number of nodes on one VPN of this variant; None: no limit."""
        return None

    # -- its life ----------------------------------------------------------------------------------

    def prepare(self, lab: Lab) -> None:
        """Remember the lab, then ``choose()`` and ``configure()``."""
        self._lab = lab
        self.choose(lab)
        self.configure()

    def choose(self, lab: Lab) -> None:
        """Take names and ports that are free in the lab (``free_device()``, ``free_port()``), where
        the program's can be chosen."""

    @abstractmethod
    def configure(self) -> None:
        """Write keys (secret=True) and configuration to the nodes of ``self.lab``."""

    def serve(self, server: Node) -> None:
        """Start a server that the VPN ``needs`` and wait for the fact that it can be joined."""
        raise NotPossible(
            self.id, f"does not use a {server.role}", "report this: its needs are wrong"
        )

    @abstractmethod
    def join(self, member: Node) -> None:
        """Start a member and wait for the fact that it accepts connections."""

    @abstractmethod
    def reach(self, path: Path) -> None:
        """Bring a path up; returns when it carries packets: a fact. Starts the source if it does
        not run.

        Raises VpnError with the last lines of the log if it does not come up in time.
        """

    def stop(self, lab: Lab) -> None:
        """Stop the VPN on all nodes at the same time, because some programs take seconds to end; no
        process, interface, rule or route remains. May be called at any time, and repeatedly."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._stop_processes, lab.nodes.values()))

    @property
    def paths(self) -> Sequence[Path]:
        """The paths that are brought up: the measured ones, unless the driver overrides it."""
        return self.lab.spec.topology.paths

    @property
    def joining(self) -> Sequence[Node]:
        """The members in the order in which they join."""
        return self.lab.members

    @property
    def newcomers(self) -> Sequence[Node]:
        """The members that ``enter`` a VPN whose servers are ready: all, unless some of them wait
        for the others."""
        return self.joining

    @property
    def pairs(self) -> Sequence[Path]:
        """The pairs of members that have a path of their own: in a mesh each with each."""
        return [Path(*both) for both in combinations([node.name for node in self.lab.members], 2)]

    # -- nodes that come and go; culvert.vpns.abilities has what only some VPNs can ----------------

    def crash(self, node: Node) -> None:
        """Kill a node's processes (SIGKILL), without notice to peers. join() and reach() start them
        anew. Raises NotPossible if there is none."""
        if not self.processes[node.name]:
            raise NotPossible(self.id, "has no process that could be restarted", LEAVE_OUT)
        self._stop_processes(node, grace_s=0.0)

    def enter(self, node: Node) -> None:
        """Make a node part of the VPN, for the first time or after crash(): it joins, and connects
        to those to which it connects by itself."""
        self.join(node)

    def leave(self, node: Node) -> None:
        """Stop a node as a user would, so that a cold start of all follows."""
        self._stop_processes(node)

    # -- what the proof needs ----------------------------------------------------------------------

    def inner(self, node: Node) -> IPv4Interface:
        """The node's address inside the VPN, from its position among the members."""
        names = [member.name for member in self.lab.members]
        network = self.lab.tunnels
        prefix = _SMALL if len(names) <= _MOST_IN_SMALL else network.prefixlen
        return IPv4Interface(f"{network[names.index(node.name) + 1]}/{prefix}")

    def inner_ipv6(self, node: Node) -> IPv6Interface | None:
        """The IPv6 address that a driver gives the node beside ``inner``, where the lab requests
        such: from its position too. A driver whose VPN can have none does not call it."""
        if not self.lab.spec.ipv6_inside:
            return None
        names = [member.name for member in self.lab.members]
        address = TUNNELS_IPV6[names.index(node.name) + 1]
        return IPv6Interface((address, TUNNELS_IPV6.prefixlen))

    def traffic_address(self, node: Node) -> Address:
        """The address from and to which measured packets go: the inner one."""
        return self.inner(node).ip

    @abstractmethod
    def interface(self, node: Node) -> str:
        """The device that inner packets pass through."""

    def route(self, path: Path) -> Route:
        """The route that this variant claims for a path's packets."""
        del path
        return DIRECT

    def determine_route(self, path: Path) -> Route:
        """The route that the program reports. Without a relay there is only the direct route."""
        return self.route(path)

    def routes(self, source: Node, targets: Sequence[Node]) -> Mapping[str, Route]:
        """``determine_route`` from one node to several, by name, without those that have no route
        yet. A driver that gets them all by one request overrides it."""
        found = {}
        for target in targets:
            with suppress(VpnError):
                found[target.name] = self.determine_route(Path(source.name, target.name))
        return found

    @property
    @abstractmethod
    def data_path(self) -> DataPath:
        """What this variant claims; the proof compares it with ``determine_data_path``."""

    @abstractmethod
    def determine_data_path(self, node: Node) -> DataPath:
        """The actual data path, from the kernel (the interface's kind, security associations
        ...)."""

    @property
    @abstractmethod
    def outer_flow(self) -> OuterFlow | None:
        """The VPN's packets on the underlay; None for the baseline."""

    @abstractmethod
    def outer_length(self, inner_length: int) -> int | None:
        """Length in bytes of the outer IPv4 packet(s) that carry an inner IP packet of
        ``inner_length`` bytes without fragmentation; None where packets do not map one to one
        (a tunnel over TCP)."""

    def length_on_underlay(self, inner_length: int) -> int | None:
        """The same on the lab's underlay, where packets may be those of IPv6."""
        length = self.outer_length(inner_length)
        over_ipv6 = self._lab is not None and self._lab.spec.underlay is IpVersion.V6
        return length + LONGER_IPV6 if length is not None and over_ipv6 else length

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Whether a packet of the outer flow belongs to the handshake."""
        del packet
        return False

    cpu_attributable: bool = True
    """Whether the CPU time of processes and kernel threads is the VPN's CPU use. False if the
    kernel encrypts in softirq and in the sender's own time."""
    kernel_threads: tuple[str, ...] = ()
    """Regular expressions for names of kernel threads that carry the data."""

    # -- shared ------------------------------------------------------------------------------------

    def bring_up(self, *, but: Path | None = None) -> None:
        """Serve, join, reach, in order; ``but`` names a path whose source a measurement starts
        itself."""
        self.serve_all()
        self.join_all([each for each in self.joining if but is None or each.name != but.source])
        for path in self.paths:
            if path != but:
                self.reach(path)

    def serve_all(self) -> None:
        """Start the servers, in the order of the topology."""
        for server in self.lab.of_role(*self.needs):
            self.serve(server)

    def join_all(self, members: Sequence[Node]) -> None:
        """Let them join: at the same time if the driver permits it."""
        for group in filter(None, self.groups(members)):
            with ThreadPoolExecutor(len(group)) as pool:
                list(pool.map(self.join, group))

    def groups(self, members: Sequence[Node]) -> Sequence[Sequence[Node]]:
        """Members that join at the same time, one group after the other."""
        return [members] if self.joins_together else [[member] for member in members]


def underlay_address(node: Node) -> Address:
    """The node's address on the underlay: IPv6 where nodes reach each other by it."""
    return node.underlay.reached_at.ip


def endpoint(address: Address, port: int) -> str:
    """Address and port as most programs read them."""
    return f"{uri_host(address)}:{port}"


def uri_host(address: Address) -> str:
    """The address as it is in a URI: IPv6 in brackets (RFC 3986, section 3.2.2)."""
    return str(address) if IpVersion(address.version) is IpVersion.V4 else f"[{address}]"

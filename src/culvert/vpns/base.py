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

``culvert.vpns.abilities`` has what only some VPNs can: servers, events, policies. VPNs with a
device of their own derive from ``culvert.vpns.tundevice.TunDevice``, those with two ends from
``culvert.vpns.tunnel.TunnelVpn``, meshes from ``culvert.vpns.mesh.MeshVpn``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Interface, IPv6Interface
from typing import Any, ClassVar, Generic, TypeVar

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.capability import TUNNEL, Capability
from culvert.labs.endpoint import Endpoint
from culvert.labs.host import Host
from culvert.labs.node import AnyNode, Node
from culvert.labs.process import Process
from culvert.topology.graph import SERVERS, Path, Role
from culvert.topology.ip import LONGER_IPV6, Address, IpVersion
from culvert.topology.plan import TUNNELS_IPV6
from culvert.topology.spec import LabSpec
from culvert.vpns.facts import POLL_S, wait_for_fact
from culvert.vpns.outer import OuterFlow, OuterPacket
from culvert.vpns.variant import DIRECT, LEAVE_OUT, Carried, DataPath, Missing, Route, Variant

T = TypeVar("T")
ONLY_IPV4 = frozenset({IpVersion.V4})
"""``underlays`` of a driver."""
_SMALL = 24
_MOST_IN_SMALL = 250
_AT_ONCE = 16


class Vpn(ABC, Generic[AnyNode]):
    """One VPN implementation, in one variant, with options, on one lab.

    An instance serves one lab.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    variants: ClassVar[tuple[Variant, ...]]
    options: ClassVar[Mapping[str, str]] = {}
    """Options that a study can add to a variant, as in ``openvpn/aes-256-gcm+tcp``."""
    recovering: ClassVar[frozenset[str]] = frozenset()
    """Those with which it notices that its path has changed or was interrupted."""
    listed_with: ClassVar[tuple[str, ...]] = ()
    """Options that make a variant a different VPN: ``culvert vpns`` also lists it with each of
    them."""
    joins_together: ClassVar[bool] = False
    """Whether join() and enter() may run for several members at the same time."""
    reaches_together: bool = False
    """Whether reach() may run for paths of several sources at the same time."""
    role: ClassVar[str | None] = None
    """The Ansible role (a folder of ansible/roles) that installs it; None: nothing to install."""
    underlays: frozenset[IpVersion] = frozenset(IpVersion)
    """Versions of IP below the VPN that it supports."""
    ipv6_inside: bool = False
    """Whether measured packets can have IPv6: the driver gives members the addresses of
    ``inner_ipv6()`` where the lab requests such."""
    no_initiation: str = ""
    """Why no initiation can be measured; empty if one can."""
    on_demand: ClassVar[bool] = False
    """Whether a packet for the tunnel brings it up, without any command. Then a warm start is the
    first packet after drop(), and resume() is not called."""
    handshake_trips: ClassVar[int] = 0
    """Round trips of its handshake at the least, from the initiator's first packet to the last one
    that answers; 0: not known. No initiation has a shorter handshake."""
    tables: ClassVar[frozenset[str]] = frozenset()
    """Numbers of routing tables that its programs use; they are not configurable."""
    firewall_tables: ClassVar[frozenset[str]] = frozenset()
    """Names of tables of nftables that its programs create, of families ip and ip6."""
    carries: ClassVar[Carried] = Carried.PACKETS
    """What crosses the tunnel. Through a proxy (``Carried.PAYLOAD``) UDP echoes take the place of
    pings, and what needs IP packets is not measured; ``outer_length()`` is None."""
    acknowledgement_bytes: ClassVar[int] = 0
    """What an end of a stream sends back at most for each packet that it receives, beside TCP's own
    acknowledgements; such as SSH's window adjustments."""
    connection_bytes: int = 0
    """What each end sends at most to make a connection of its own for each one inside, as a proxy
    over TLS does: its handshake."""

    rekey_deadline_s: ClassVar[float] = 10.0
    """Longest duration of rekey(): with some VPNs it waits until they renew their keys
    themselves."""
    routes_behind: bool = False
    """Whether the driver routes the networks behind the gateway (``lab.behind``) to the clients."""
    memory_bytes: int = 16 << 20
    """Memory of a member's programs, 10 to 60 MB each; 0 without programs."""
    watchers: int = 0
    """Instances of inotify(7) that a member's programs make; a kernel limits those of a user."""
    up_deadline_s: float = 10.0
    """Longest duration of each wait of serve(), join() and reach(); a measurement raises it where
    many members join at once."""
    grace_s: float = 2.0
    """How long its programs may take to end at SIGTERM before they are killed."""
    poll_s: float = POLL_S
    """Time between two evaluations of ``await_fact()``."""
    capabilities: ClassVar[frozenset[Capability]] = TUNNEL
    """Those that its programs need (``node.daemon``); they get no others."""
    server_capabilities: ClassVar[frozenset[Capability] | None] = None
    """Those that its control servers and relays need; None: as ``capabilities``."""
    cpu_attributable: bool = True
    """Whether the CPU time of processes and kernel threads is the VPN's CPU use. False if the
    kernel encrypts in softirq and in the sender's own time."""
    kernel_threads: tuple[str, ...] = ()
    """Regular expressions for names of kernel threads that carry the data."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        self.variant = variant
        self.chosen = options
        self.processes: dict[str, list[Process]] = defaultdict(list)
        """Processes by node name, in the order of their start."""
        self._lab: Lab[AnyNode] | None = None

    @property
    def id(self) -> str:
        """The name in a study: ``name/variant+option``."""
        base = self.name if self.variant.name == self.name else f"{self.name}/{self.variant.name}"
        return "+".join((base, *sorted(self.chosen)))

    @property
    def lab(self) -> Lab[AnyNode]:
        """The lab, from prepare() on."""
        if self._lab is None:
            raise NotPossible(self.id, "is not prepared", "call prepare(lab) first")
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
        """The version of the program that will run on the host, as precisely as possible."""

    # -- its life ----------------------------------------------------------------------------------

    def prepare(self, lab: Lab[AnyNode]) -> None:
        """Remember the lab, then ``choose()`` and ``configure()``."""
        self.require_support(lab.spec)
        self._lab = lab
        self.choose(lab)
        self.configure()

    def require_support(self, spec: LabSpec) -> None:
        """Raise NotPossible for what a lab requests and this VPN or its driver does not support."""
        if spec.inner is IpVersion.V6 and not self.ipv6_inside:
            raise NotPossible(
                self.id,
                "it or its driver does not support IPv6 inside",
                'leave it out in conditions with inner = "ipv6"',
            )
        if spec.topology.of_role(Role.BEHIND) and not self.routes_behind:
            raise NotPossible(
                self.id,
                "its driver does not support hosts behind the gateway",
                'leave it out, or write to = "gateway"',
            )

    def choose(self, lab: Lab[AnyNode]) -> None:
        """Take names and ports that are free in the lab (``free_device()``, ``free_port()``), where
        the program's can be chosen."""
        del lab

    @abstractmethod
    def configure(self) -> None:
        """Write keys (secret=True) and configuration to the nodes of ``self.lab``."""

    @abstractmethod
    def join(self, member: AnyNode) -> None:
        """Start a member and wait for the fact that it accepts connections."""

    @abstractmethod
    def reach(self, path: Path) -> None:
        """Bring a path up; returns when it carries packets: a fact. Starts the source if it does
        not run.

        Raises VpnError with the last lines of the log if it does not come up in time.
        """

    def stop(self, lab: Lab[AnyNode]) -> None:
        """Stop the VPN on all nodes at the same time, because some programs take seconds to end; no
        process, interface, rule or route remains. May be called at any time, and repeatedly."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._stop_processes, lab.nodes.values()))

    @property
    def paths(self) -> Sequence[Path]:
        """The paths that are brought up: the measured ones, unless the driver overrides it."""
        return self.lab.spec.topology.paths

    @property
    def joining(self) -> Sequence[AnyNode]:
        """The members in the order in which they join."""
        return self.lab.members

    def crash(self, node: AnyNode) -> None:
        """Kill a node's processes (SIGKILL), without notice to peers. join() and reach() start them
        anew. Raises NotPossible if there is none."""
        if not self.processes[node.name]:
            raise NotPossible(self.id, "has no processes to restart", LEAVE_OUT)
        self._stop_processes(node, grace_s=0.0)

    def leave(self, node: AnyNode) -> None:
        """Stop a node as a user would, so that a cold start of all follows."""
        self._stop_processes(node)

    # -- what the proof needs ----------------------------------------------------------------------

    def inner(self, node: AnyNode) -> IPv4Interface:
        """The node's address inside the VPN, from its position among the members."""
        numbers = self.lab.spec.topology.member_numbers
        network = self.lab.tunnels
        prefix = _SMALL if len(numbers) <= _MOST_IN_SMALL else network.prefixlen
        return IPv4Interface(f"{network[numbers[node.name] + 1]}/{prefix}")

    def inner_ipv6(self, node: AnyNode) -> IPv6Interface | None:
        """The IPv6 address that a driver gives the node beside ``inner``, where the lab requests
        such: from its position too. A driver whose VPN can have none does not call it."""
        if not self.lab.spec.members_have_ipv6:
            return None
        address = TUNNELS_IPV6[self.lab.spec.topology.member_numbers[node.name] + 1]
        return IPv6Interface((address, TUNNELS_IPV6.prefixlen))

    @property
    def inner_version(self) -> IpVersion:
        """That of measured packets inside; a driver overrides it whose VPN has IPv6 only."""
        return self.lab.spec.inner

    def traffic_address(self, node: AnyNode) -> Address:
        """The address from and to which measured packets go: the inner one."""
        ipv6 = self.inner_ipv6(node) if self.inner_version is IpVersion.V6 else None
        return self.inner(node).ip if ipv6 is None else ipv6.ip

    @abstractmethod
    def interface(self, node: AnyNode) -> str:
        """The device that inner packets pass through."""

    def interfaces(self, node: AnyNode) -> Sequence[str]:
        """All of them on a node: several where server processes have one each."""
        return (self.interface(node),)

    def route(self, path: Path) -> Route:
        """The route that this variant claims for a path's packets."""
        del path
        return DIRECT

    def determine_route(self, path: Path) -> Route:
        """The route that the program reports. Without a relay there is only the direct route."""
        return self.route(path)

    @property
    @abstractmethod
    def data_path(self) -> DataPath:
        """What this variant claims; the proof compares it with ``determine_data_path``."""

    @abstractmethod
    def determine_data_path(self, node: AnyNode) -> DataPath:
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

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Whether a packet of the outer flow belongs to the handshake."""
        del packet
        return False

    # -- its programs ------------------------------------------------------------------------------

    def capabilities_on(self, node: Endpoint) -> frozenset[Capability]:
        """Those of its programs on a node."""
        if node.role in SERVERS and self.server_capabilities is not None:
            return self.server_capabilities
        return self.capabilities

    def start_process(
        self, node: Node, argv: Sequence[str], name: str, env: Mapping[str, str] | None = None
    ) -> Process:
        """Start a command in the foreground; it is ended with the VPN. ``name`` is that of its
        log."""
        process = node.daemon(argv, name=name, env=env, capabilities=self.capabilities_on(node))
        self.processes[node.name].append(process)
        return process

    def await_fact(
        self,
        fact: Callable[[], T | None],
        process: Process | None,
        what: str,
        *,
        evidence: Callable[[], str] = str,
        deadline_s: float = 0.0,
        poll_s: float = 0.0,
    ) -> T:
        """``wait_for_fact`` with its name, within ``up_deadline_s`` by default."""
        return wait_for_fact(
            fact,
            vpn=self.id,
            process=process,
            what=what,
            deadline_s=deadline_s or self.up_deadline_s,
            evidence=evidence,
            poll_s=poll_s or self.poll_s,
        )

    def sweep(self, node: AnyNode, ended: Sequence[Process]) -> None:
        """Remove from a node what its programs, which have ended, left there: devices, rules,
        sockets. Called at each stop; ``ended`` is empty where none ran."""
        del node, ended

    def _stop_processes(self, node: AnyNode, *, grace_s: float | None = None) -> None:
        ended = list(self.processes[node.name])
        for process in reversed(ended):
            process.stop(grace_s=self.grace_s if grace_s is None else grace_s)
        self.processes[node.name].clear()
        self.sweep(node, ended)


def length_on_underlay(vpn: Vpn[Any], inner_length: int) -> int | None:
    """``outer_length`` on the lab's underlay, where packets may be those of IPv6. ``inner_length``
    is that of an inner packet of IPv4 with the same payload."""
    if vpn._lab is None:
        return vpn.outer_length(inner_length)
    inside, outside = (
        LONGER_IPV6 if version is IpVersion.V6 else 0
        for version in (vpn.inner_version, vpn._lab.spec.underlay)
    )
    length = vpn.outer_length(inner_length + inside)
    return None if length is None else length + outside


def underlay_address(node: Endpoint) -> Address:
    """The node's address on the underlay: IPv6 where nodes reach each other by it."""
    return node.underlay.reached_at.ip


def endpoint(address: Address, port: int) -> str:
    """Address and port as most programs read them."""
    return f"{uri_host(address)}:{port}"


def uri_host(address: Address) -> str:
    """The address for a URI: IPv6 in brackets (RFC 3986, section 3.2.2)."""
    return str(address) if IpVersion(address.version) is IpVersion.V4 else f"[{address}]"

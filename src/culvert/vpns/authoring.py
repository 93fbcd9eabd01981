"""All names that a driver imports, Culvert's own as a stranger's: the contract's public interface.

A driver is a class derived from one of these; help(TunProgram) has its methods, and
docs/driver-reference.md has all names on one page::

    TunProgram        one foreground program, one tun device, one UDP port on each node
    TunnelVpn         two ends: one listens, others connect
    MeshVpn           members with a tun device that join by themselves
    AssigningMeshVpn  a mesh whose control server assigns the addresses
    TunDevice, Ports  a device of its own on each node, and one port
    Vpn               what every VPN has

What it declares::

    Variant, DataCipher        a way to run the VPN; what encrypts its data
    DataPath, Carried          where packets are encrypted; what crosses: packets, or payload
    OuterFlow, OuterPacket     its packets on the underlay; one of them
    OuterMessage               a kind of its messages
    Route, DIRECT, RouteCount  the route of a path's packets; how many took which
    Missing                    what a machine lacks, with the remedy
    Capability, TUNNEL         what its programs may do
    ONLY_IPV4                  the versions of IP below it, if it has no IPv6
    Policy, Permit, Protocol   what apply_policy() gets

What only some VPNs can do: those whose drivers have these methods::

    Serving                    serve(): control servers and relays
    Registering                register(): make a member known before a measured start
    LimitingMembers            most_members(): the largest number of nodes
    OrderingMembers            newcomers: members for which the others wait
    PairingMembers             pairs, enter(): not every member has a path to every other
    Dropping, Resuming         drop(), resume(): a tunnel apart from its processes
    Rekeying                   rekey(): new keys
    Enforcing                  apply_policy(): a policy of what members may send
    FullTunnel                 kill_switch: it can be the default route of its clients
    ListingRoutes              routes(): the routes to several members by one request
    CountingRoutes             sent(): its programs' counts of packets by route

What it works with::

    Lab, Node, Role            the lab; a node of it; what the node is there for
    Path, Ends                 from one member to another; its two nodes
    Host, Endpoint, Completed  a machine; the end of a path; a command that ended on it
    Process, LinkState         a program on a node; an interface

What it raises::

    VpnError, SEE_LOG          the VPN ended, refused or did not come up; the remedy in a log
    ProgramEnded               its program ended before a fact that was waited for
    NotPossible, LEAVE_OUT     this variant has no such event; the remedy then
    LabError                   a command on a node failed

What its test calls::

    check_here, Violation      the contract test; a rule that the driver breaks
"""

from __future__ import annotations

from culvert.errors import LabError, NotPossible, VpnError
from culvert.labs.base import Ends, Lab
from culvert.labs.capability import TUNNEL, Capability
from culvert.labs.endpoint import Endpoint, LinkState
from culvert.labs.host import Completed, Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.topology.graph import Path, Role
from culvert.vpns.abilities import (
    CountingRoutes,
    Dropping,
    Enforcing,
    FullTunnel,
    LimitingMembers,
    ListingRoutes,
    OrderingMembers,
    PairingMembers,
    Permit,
    Policy,
    Protocol,
    Registering,
    Rekeying,
    Resuming,
    Serving,
)
from culvert.vpns.base import ONLY_IPV4, Vpn, endpoint, underlay_address, uri_host
from culvert.vpns.contract import Violation, check_here
from culvert.vpns.facts import (
    SEE_LOG,
    ProgramEnded,
    accepts,
    hang_up,
    listens,
    log_tail,
    missing_from_kernel,
    missing_tun,
    path_of_device,
    wait_for_device,
    wait_for_fact,
    wait_for_ping,
)
from culvert.vpns.mesh import AssigningMeshVpn, MeshVpn
from culvert.vpns.outer import OuterFlow, OuterMessage, OuterPacket, largest_inner
from culvert.vpns.tundevice import Ports, TunDevice
from culvert.vpns.tunnel import TunnelVpn, TunProgram
from culvert.vpns.variant import (
    DIRECT,
    LEAVE_OUT,
    Carried,
    DataCipher,
    DataPath,
    Missing,
    Route,
    RouteCount,
    Variant,
    kept_relayed,
)
from culvert.vpns.versions import package_version, read_go_build

__all__ = [
    "DIRECT",
    "LEAVE_OUT",
    "ONLY_IPV4",
    "SEE_LOG",
    "TUNNEL",
    "AssigningMeshVpn",
    "Capability",
    "Carried",
    "Completed",
    "CountingRoutes",
    "DataCipher",
    "DataPath",
    "Dropping",
    "Endpoint",
    "Ends",
    "Enforcing",
    "FullTunnel",
    "Host",
    "Lab",
    "LabError",
    "LimitingMembers",
    "LinkState",
    "ListingRoutes",
    "MeshVpn",
    "Missing",
    "Node",
    "NotPossible",
    "OrderingMembers",
    "OuterFlow",
    "OuterMessage",
    "OuterPacket",
    "PairingMembers",
    "Path",
    "Permit",
    "Policy",
    "Ports",
    "Process",
    "ProgramEnded",
    "Protocol",
    "Registering",
    "Rekeying",
    "Resuming",
    "Role",
    "Route",
    "RouteCount",
    "Serving",
    "TunDevice",
    "TunProgram",
    "TunnelVpn",
    "Variant",
    "Violation",
    "Vpn",
    "VpnError",
    "accepts",
    "check_here",
    "endpoint",
    "hang_up",
    "kept_relayed",
    "largest_inner",
    "listens",
    "log_tail",
    "missing_from_kernel",
    "missing_tun",
    "package_version",
    "path_of_device",
    "read_go_build",
    "underlay_address",
    "uri_host",
    "wait_for_device",
    "wait_for_fact",
    "wait_for_ping",
]


def __dir__() -> list[str]:
    """What help() of this module lists: functions. Each class has a help of its own; all of them
    with what they inherit from str and int would be thousands of lines."""
    return [name for name in globals() if not isinstance(globals()[name], type)]

"""All names that the author of a driver imports: the contract's public interface."""

from __future__ import annotations

from culvert.errors import LabError, NotPossible, VpnError
from culvert.labs.base import Ends, Lab
from culvert.labs.capability import TUNNEL, Capability
from culvert.labs.host import Completed, Host
from culvert.labs.node import LinkState, Node
from culvert.labs.process import Process
from culvert.topology.graph import Path, Role
from culvert.vpns.base import Vpn, endpoint, underlay_address
from culvert.vpns.facts import (
    missing_from_kernel,
    missing_tun,
    path_of_device,
    wait_for_device,
    wait_for_fact,
    wait_for_ping,
)
from culvert.vpns.gobuild import read_go_build
from culvert.vpns.mesh import MeshVpn
from culvert.vpns.outer import OuterFlow, OuterPacket
from culvert.vpns.packages import package_version
from culvert.vpns.policy import Permit, Policy, Protocol
from culvert.vpns.program import TunProgram
from culvert.vpns.tundevice import TunDevice
from culvert.vpns.tunnel import TunnelVpn
from culvert.vpns.variant import (
    DIRECT,
    LEAVE_OUT,
    DataCipher,
    DataPath,
    Missing,
    Route,
    RouteCount,
    Variant,
)

__all__ = [
    "DIRECT",
    "LEAVE_OUT",
    "TUNNEL",
    "Capability",
    "Completed",
    "DataCipher",
    "DataPath",
    "Ends",
    "Host",
    "Lab",
    "LabError",
    "LinkState",
    "MeshVpn",
    "Missing",
    "Node",
    "NotPossible",
    "OuterFlow",
    "OuterPacket",
    "Path",
    "Permit",
    "Policy",
    "Process",
    "Protocol",
    "Role",
    "Route",
    "RouteCount",
    "TunDevice",
    "TunProgram",
    "TunnelVpn",
    "Variant",
    "Vpn",
    "VpnError",
    "endpoint",
    "missing_from_kernel",
    "missing_tun",
    "package_version",
    "path_of_device",
    "read_go_build",
    "underlay_address",
    "wait_for_device",
    "wait_for_fact",
    "wait_for_ping",
]

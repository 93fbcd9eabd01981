"""The agent's answers, as types. An answer of another form raises ProbeError.

Units are in the names; docs/probe-protocol.md is the reference.
"""

from culvert.probe.results.accounting import Accounted, CpuTimes, DeviceUse, ProcessUse
from culvert.probe.results.base import Result, Times, parse
from culvert.probe.results.capture import Captured, Doubtful, RecordedPacket, TwoWay
from culvert.probe.results.echo import EchoOnce, EchoResult, FirstAnswer, Floor, RttResult
from culvert.probe.results.leaks import (
    FlowTallies,
    FlowTally,
    LeakedPacket,
    LeakKind,
    Leaks,
)
from culvert.probe.results.tcp import (
    Responded,
    TcpInfo,
    TcpSource,
    TcpSourceInterval,
    TcpSunk,
    Transacted,
)
from culvert.probe.results.udp import UdpInterval, UdpSource, UdpSunk

__all__ = [
    "Accounted",
    "Captured",
    "CpuTimes",
    "DeviceUse",
    "Doubtful",
    "EchoOnce",
    "EchoResult",
    "FirstAnswer",
    "Floor",
    "FlowTallies",
    "FlowTally",
    "LeakKind",
    "LeakedPacket",
    "Leaks",
    "ProcessUse",
    "RecordedPacket",
    "Responded",
    "Result",
    "RttResult",
    "TcpInfo",
    "TcpSource",
    "TcpSourceInterval",
    "TcpSunk",
    "Times",
    "Transacted",
    "TwoWay",
    "UdpInterval",
    "UdpSource",
    "UdpSunk",
    "parse",
]

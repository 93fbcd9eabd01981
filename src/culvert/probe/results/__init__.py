"""The agent's answers, as types. An answer of another form raises ProbeError.

Units are in the names; docs/probe-protocol.md is the reference.
"""

from culvert.probe.results.accounting import Accounted, CpuTimes, DeviceUse, ProcessUse
from culvert.probe.results.apps import (
    Datagrams,
    HttpLoaded,
    HttpServed,
    QuicSent,
    QuicSunk,
    SecureServer,
)
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
    StreamSunk,
    TcpInfo,
    TcpSource,
    TcpSourceInterval,
    TcpSunk,
    Transacted,
)
from culvert.probe.results.udp import Forwarded, UdpInterval, UdpSource, UdpSunk

__all__ = [
    "Accounted",
    "Captured",
    "CpuTimes",
    "Datagrams",
    "DeviceUse",
    "Doubtful",
    "EchoOnce",
    "EchoResult",
    "FirstAnswer",
    "Floor",
    "FlowTallies",
    "FlowTally",
    "Forwarded",
    "HttpLoaded",
    "HttpServed",
    "LeakKind",
    "LeakedPacket",
    "Leaks",
    "ProcessUse",
    "QuicSent",
    "QuicSunk",
    "RecordedPacket",
    "Responded",
    "Result",
    "RttResult",
    "SecureServer",
    "StreamSunk",
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

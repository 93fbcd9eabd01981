"""The agent's answers, as types. An answer of another form raises ProbeError.

Units are in the names; docs/probe-protocol.md is the reference.
"""

from culvert.probe.results.accounting import (
    Accounted,
    CpuTimes,
    DeviceUse,
    KernelThreadUse,
    ProcessUse,
    QueueUse,
    ThreadUse,
    TimeUse,
    UdpUse,
)
from culvert.probe.results.base import Result, parse
from culvert.probe.results.capture import (
    Captured,
    Count,
    Doubtful,
    Others,
    Randomness,
    RecordedPacket,
    TwoWay,
)
from culvert.probe.results.echo import EchoOnce, EchoResult, FirstAnswer, Floor, RttResult
from culvert.probe.results.tcp import (
    BytesInterval,
    TcpInfo,
    TcpSource,
    TcpSourceInterval,
    TcpStreamSent,
    TcpStreamSunk,
    TcpSunk,
)
from culvert.probe.results.times import Times
from culvert.probe.results.transactions import Responded, Transacted
from culvert.probe.results.udp import (
    DelayVariation,
    InterPacketVariation,
    LossRuns,
    OneWayDelay,
    Reordering,
    UdpInterval,
    UdpSource,
    UdpSunk,
)

__all__ = [
    "Accounted",
    "BytesInterval",
    "Captured",
    "Count",
    "CpuTimes",
    "DelayVariation",
    "DeviceUse",
    "Doubtful",
    "EchoOnce",
    "EchoResult",
    "FirstAnswer",
    "Floor",
    "InterPacketVariation",
    "KernelThreadUse",
    "LossRuns",
    "OneWayDelay",
    "Others",
    "ProcessUse",
    "QueueUse",
    "Randomness",
    "RecordedPacket",
    "Reordering",
    "Responded",
    "Result",
    "RttResult",
    "TcpInfo",
    "TcpSource",
    "TcpSourceInterval",
    "TcpStreamSent",
    "TcpStreamSunk",
    "TcpSunk",
    "ThreadUse",
    "TimeUse",
    "Times",
    "Transacted",
    "TwoWay",
    "UdpInterval",
    "UdpSource",
    "UdpSunk",
    "UdpUse",
    "parse",
]

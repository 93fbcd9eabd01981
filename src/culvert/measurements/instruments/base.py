"""The instruments, the load they are given, and the report they return."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from culvert.errors import CulvertError
from culvert.labs.host import Host
from culvert.results import Histogram, Metric
from culvert.study.table import problem


class Instrument(StrEnum):
    """What makes and measures the traffic; ``probe`` is Culvert's own."""

    PROBE = "probe"
    IPERF2 = "iperf2"
    IPERF3 = "iperf3"
    NUTTCP = "nuttcp"
    PING = "ping"


THROUGHPUT = (Instrument.PROBE, Instrument.IPERF2, Instrument.IPERF3, Instrument.NUTTCP)
"""Those that measure goodput."""
_PROGRAMS: Mapping[Instrument, tuple[str, str]] = {
    Instrument.IPERF2: ("iperf", "iperf"),
    Instrument.IPERF3: ("iperf3", "iperf3"),
    Instrument.NUTTCP: ("nuttcp", "nuttcp"),
    Instrument.PING: ("ping", "iputils-ping"),
}


class InstrumentError(CulvertError):
    """An instrument did not measure, or its output has no result."""


def bad_report(instrument: Instrument, why: str) -> InstrumentError:
    """The error of an instrument's output, with its remedy."""
    return InstrumentError(instrument, why, "run it by hand in a tunnel that 'culvert up' keeps")


def count(text: str) -> float:
    """A number in an instrument's output; raises ValueError unless it is finite and at least 0."""
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError(text)
    return value


@dataclass(frozen=True)
class Load:
    """What a throughput instrument sends to ``to``, for whole seconds.

    ``size`` is the payload of a datagram, or of a write, in bytes. ``rate_bps`` is that of the
    payload of all streams together; None: as fast as possible (UDP only).
    """

    to: str
    udp: bool
    duration_s: int
    size: int
    streams: int = 1
    rate_bps: float | None = None
    congestion_control: str = ""
    nodelay: bool = False
    socket_buffer_bytes: int | None = None

    @property
    def window(self) -> list[str]:
        """The option of both iperfs for socket buffers (``-w``)."""
        return [] if self.socket_buffer_bytes is None else ["-w", str(self.socket_buffer_bytes)]


@dataclass(frozen=True)
class ToolReport:
    """What an instrument reported. ``received_bytes`` is the receiver's count; packets are UDP's.

    ``congestion_control`` is empty where the instrument does not report it.
    """

    goodput_bps: float
    received_bytes: float
    retransmits: int | None = None
    sent_packets: int | None = None
    lost_packets: int | None = None
    congestion_control: str = ""
    metrics: tuple[Metric, ...] = ()
    histograms: tuple[Histogram, ...] = ()


def program(host: Host, instrument: Instrument) -> str:
    """Path of the program there; raises NotPossible that names the package."""
    name, package = _PROGRAMS[instrument]
    return host.require(name, f"apt install {package}")


def refuse(
    instrument: Instrument, known: Iterable[Instrument], unsupported: Mapping[str, bool]
) -> None:
    """Raise for a measurement's parameters that the instrument cannot do.

    ``unsupported`` maps a feature, in words, to whether it is requested.
    """
    if instrument not in known:
        names = " or ".join(f'"{one}"' for one in known)
        raise problem(f"{instrument} does not measure this", f"write instrument = {names}")
    if instrument is Instrument.PROBE:
        return
    for feature, requested in unsupported.items():
        if requested:
            why = f"{instrument} has no {feature}"
            raise problem(why, 'leave it out, or measure with "probe"')

"""Echo requests beside a load: the delay of packets while others are in transit."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.measurements.rtt.schedule import Sampling
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.measurements.streams.udp_stream import SLACK_S, UdpRun, UdpStream, UdpTrial
from culvert.probe.client import Task
from culvert.probe.results import EchoResult, RttResult, parse
from culvert.trial.session import Session

TIMEOUT_MS = 1000
LEAD_S = 0.1
"""The load runs for this time before the first echo request and after the last."""


class Echo:
    """A reflector on node b, bound to ``address``."""

    def __init__(self, session: Session, address: str, idle_s: float) -> None:
        self._session = session
        self._address = address
        self._task = session.b.begin("echo", bind=address, token=session.token, idle_s=idle_s)
        self._port = self._task.port()

    def begin_rtt(
        self,
        *,
        size: int,
        rate_pps: float,
        count: int,
        sampling: Sampling = Sampling.SCATTERED,
        spin_us: int = 0,
    ) -> Task:
        """Start ``count`` echo requests of ``size`` bytes each from node a."""
        return self._session.a.begin(
            "rtt",
            protocol="udp",
            to=self._address,
            port=self._port,
            rate_pps=rate_pps,
            sampling=sampling,
            count=count,
            payload_size=size - UDP_HEADERS,
            timeout_ms=self._session.patience_ms(TIMEOUT_MS),
            spin_us=spin_us,
            **self._session.marks,
        )

    def close(self) -> EchoResult:
        """End it; returns the number of requests it answered."""
        return parse(EchoResult, self._task.stop())


def rtt_result(task: Task, seconds: float) -> RttResult:
    """Wait for the last answers of a schedule that lasts ``seconds``."""
    return parse(RttResult, task.result(seconds + TIMEOUT_MS / 1000 + SLACK_S))


@dataclass(frozen=True)
class RttUnderUdp:
    """Round trips, the load beside them, and the number of requests the far end reflected."""

    rtt: RttResult
    load: UdpTrial
    reflected: int


def rtt_under_udp(
    session: Session,
    *,
    to: str,
    size: int,
    load_pps: float,
    probe_pps: float,
    duration_s: float,
    quiet_ms: int,
) -> RttUnderUdp:
    """Echo requests at ``probe_pps`` while UDP packets of the same size go from a to b."""
    lasting_s = duration_s + 2 * LEAD_S
    stream = UdpStream(to, (size,), lasting_s, rate_pps=load_pps)
    run = UdpRun(session, stream, quiet_ms)
    echo = Echo(session, to, lasting_s + SLACK_S)
    run.start()
    task = echo.begin_rtt(
        size=size, rate_pps=probe_pps, count=max(round(probe_pps * duration_s), 10)
    )
    rtt = rtt_result(task, duration_s)
    return RttUnderUdp(rtt, run.finish(), echo.close().packets)

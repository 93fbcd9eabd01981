"""Flows from a path's source to its target, one of each kind that a policy distinguishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from culvert.errors import ProbeError
from culvert.measurements.streams.packet import SMALLEST, UDP_HEADERS
from culvert.probe.client import Task
from culvert.probe.results import EchoOnce, RttResult, Transacted, parse
from culvert.trial.session import Session
from culvert.vpns.abilities import Permit, Protocol

ATTEMPTS = 4
"""Requests of a flow; one answer is enough."""
_PAYLOAD = SMALLEST - UDP_HEADERS
_SLACK_S = 5.0
_TCP_S = 0.01
"""Of transactions, once a connection is there."""


@dataclass(frozen=True)
class Flow:
    """``port`` None: the protocol has none."""

    protocol: Protocol
    port: int | None

    def permit(self, session: Session) -> Permit:
        return Permit(session.path.source, session.path.target, self.protocol, self.port)


class Services:
    """What listens at the target: two ports of TCP and two of UDP; its kernel answers pings."""

    def __init__(self, session: Session, idle_s: float) -> None:
        self._session = session
        bind = session.inner(session.target)
        kinds = {Protocol.TCP: "tcp_responder", Protocol.UDP: "echo"}
        self._listening = [
            (protocol, session.b.begin(kind, bind=bind, token=session.token, idle_s=idle_s))
            for protocol, kind in kinds.items()
            for _ in range(2)
        ]
        self.flows: Sequence[Flow] = [
            *(Flow(protocol, task.port()) for protocol, task in self._listening),
            Flow(Protocol.ICMP, None),
        ]

    def stop(self) -> None:
        for _, task in self._listening:
            task.stop()

    def of(self, protocol: Protocol) -> Sequence[Flow]:
        return [flow for flow in self.flows if flow.protocol is protocol]

    def that_pass(self, try_s: float) -> Mapping[Flow, bool]:
        """Whether each flow is answered within ``try_s``; all are tried at the same time."""
        tried = {flow: self._begin(flow, try_s) for flow in self.flows}
        return {flow: self._answered(flow, task, try_s) for flow, task in tried.items()}

    def passes(self, flow: Flow, try_s: float) -> bool:
        return self._answered(flow, self._begin(flow, try_s), try_s)

    def _begin(self, flow: Flow, try_s: float) -> Task:
        session = self._session
        to = session.inner(session.target)
        each_ms = max(round(1e3 * try_s / ATTEMPTS), 1)
        match flow.protocol:
            case Protocol.TCP:
                return session.a.begin(
                    "tcp_crr",
                    connect=to,
                    port=flow.port,
                    duration_s=_TCP_S,
                    timeout_s=try_s,
                    **session.marks,
                )
            case Protocol.UDP:
                return session.a.begin(
                    "echo_once",
                    to=to,
                    port=flow.port,
                    payload_size=_PAYLOAD,
                    df=False,
                    timeout_ms=each_ms,
                    attempts=ATTEMPTS,
                    **session.marks,
                )
            case Protocol.ICMP:
                return session.a.begin(
                    "rtt",
                    protocol="icmp",
                    to=to,
                    rate_pps=ATTEMPTS / try_s,
                    count=ATTEMPTS,
                    payload_size=_PAYLOAD,
                    timeout_ms=each_ms,
                    **session.marks,
                )

    def _answered(self, flow: Flow, task: Task, try_s: float) -> bool:
        try:
            answer = task.result(try_s + _SLACK_S)
        except ProbeError:  # nothing was answered; or the probe is gone
            if broken := self._session.a.broken():
                raise broken from None
            return False
        match flow.protocol:
            case Protocol.TCP:
                return parse(Transacted, answer).transactions > 0
            case Protocol.UDP:
                return parse(EchoOnce, answer).answered
            case Protocol.ICMP:
                return parse(RttResult, answer).received > 0

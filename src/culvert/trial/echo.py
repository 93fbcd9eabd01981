"""What reflects marked packets at one end of a path, and the requests that the other end sends."""

from __future__ import annotations

from typing import Any, Self

from culvert.errors import ProbeError
from culvert.probe.client import Probe, Task
from culvert.probe.results import EchoOnce, EchoResult, FirstAnswer, RttResult, parse
from culvert.trial.session import Session

SLACK_S = 15.0
ATTEMPTS = 3


class Echo:
    """A reflector on node b, or on node a unless ``upward``, or with the probe ``at`` a host beyond
    node b. It is at ``to``: its node's address inside the tunnel, unless given. It ends by itself
    when nothing has come for ``idle_s``."""

    def __init__(
        self,
        session: Session[Any],
        idle_s: float,
        to: str = "",
        *,
        upward: bool = True,
        at: Probe | None = None,
    ) -> None:
        nodes, probes = (session.source, session.target), (session.a, session.b)
        source, target = nodes if upward else nodes[::-1]
        self._requester, reflector = probes if upward else probes[::-1]
        self.to = to or session.inner(target)
        self._bind = session.inner(source)
        self._marks = session.marks
        self._task = (at or reflector).begin(
            "echo", bind=self.to, token=session.token, idle_s=idle_s
        )
        self.port = self._task.port()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self.close()

    def begin_rtt(
        self,
        *,
        rate_pps: float,
        count: int,
        payload_size: int,
        timeout_ms: int,
        protocol: str = "udp",
        **schedule: object,
    ) -> Task:
        """Start ``count`` requests; with ICMP the target's kernel answers."""
        port = {} if protocol == "icmp" else {"port": self.port}
        return self._requester.begin(
            "rtt",
            protocol=protocol,
            to=self.to,
            **port,
            rate_pps=rate_pps,
            count=count,
            payload_size=payload_size,
            timeout_ms=timeout_ms,
            **schedule,
            **self._marks,
        )

    def rtt(self, *, rate_pps: float, count: int, timeout_ms: int, **more: Any) -> RttResult:
        """Measure round trips, and wait for the last answer."""
        task = self.begin_rtt(rate_pps=rate_pps, count=count, timeout_ms=timeout_ms, **more)
        return parse(RttResult, task.result(count / rate_pps + timeout_ms / 1000 + SLACK_S))

    def once(
        self, payload_size: int, *, timeout_ms: int, df: bool, attempts: int = ATTEMPTS
    ) -> EchoOnce:
        """Requests of one size until one is answered; ``df``: they must not be fragmented."""
        answer = self._requester.call(
            "echo_once",
            attempts * timeout_ms / 1000 + SLACK_S,
            to=self.to,
            port=self.port,
            payload_size=payload_size,
            df=df,
            attempts=attempts,
            timeout_ms=timeout_ms,
            **self._marks,
        )
        return parse(EchoOnce, answer)

    def begin_first_answer(self, *, interval_us: int, deadline_s: float) -> Task:
        """Start requests until the first answer. From the node's address inside the tunnel:
        otherwise requests before it is up would follow a default route."""
        return self._requester.begin(
            "first_answer",
            to=self.to,
            port=self.port,
            bind=self._bind,
            interval_us=interval_us,
            deadline_s=deadline_s,
            **self._marks,
        )

    def first_answer(self, *, interval_us: int, deadline_s: float) -> FirstAnswer | None:
        """Wait for the first answer; None if no packet went through in time."""
        task = self.begin_first_answer(interval_us=interval_us, deadline_s=deadline_s)
        try:
            return parse(FirstAnswer, task.result(deadline_s + SLACK_S))
        except ProbeError:
            return None

    def close(self) -> EchoResult:
        """End it; returns the number of requests that it answered."""
        return parse(EchoResult, self._task.stop())

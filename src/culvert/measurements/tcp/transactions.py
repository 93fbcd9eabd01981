"""``tcp_rr`` and ``tcp_crr``: how many small requests per second cross a tunnel, one after another.

::

    tcp_rr    connect ── request ── response ── request ── response ...
    tcp_crr   connect ── request ── response ── close ── connect ...

As netperf's TCP_RR and TCP_CRR. The limit is the round trip, for tcp_crr two of them: rate and
times are those of one client that waits for each response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.ceiling import bare_link_tells
from culvert.measurements.parameters import Duration
from culvert.measurements.streams.packet import TCP_HEADERS, UDP_HEADERS
from culvert.measurements.streams.tcp_packets import transaction_traffic
from culvert.metrics import Better, MetricSpec, Weight, family
from culvert.probe.results import Responded, TcpInfo, Times, Transacted, parse
from culvert.proof.known import KnownPath
from culvert.proof.truth import LATE_NS, SHORT, Truth
from culvert.results import Histogram, measured
from culvert.trial.check import Check
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import InnerTraffic, add_traffic, echo_traffic
from culvert.vpns.variant import Carried

CEILING_S = 0.25
MARKED, MARKED_PPS, MARKED_BYTES = 20, 2000, 84
MARKED_TIMEOUT_MS = 1000
SLACK_S = 15
SYN_BYTES = 60
"""IPv4 header (20), TCP header (20) and the options of Linux (20)."""
SLOW_NS = 20e6
"""A transaction that takes less is the machine's as much as the path's: its rate has no truth."""
STATISTICS = ("min", "p50", "p90", "p99", "p99_9", "max")
MAX_ERRORS = 0.01
"""Share of transactions that may fail."""
Message = Annotated[int, Field(ge=1, le=1 << 20)]

_METRICS = (
    MetricSpec("transactions_per_s", "1/s", "Transactions per second", Better.MORE, Weight.MAIN),
    MetricSpec("transactions", "transactions", "Transactions"),
    MetricSpec("ceiling_transactions_per_s", "1/s", "Transactions per second beside the tunnel"),
    *family("transaction_{}_us", "us", "Time of a transaction", STATISTICS, Better.LESS, ways=2),
)


class TransactionParameters(BaseParameters):
    """Parameters of requests, one after another."""

    duration_s: Duration = 5.0
    """Duration of the requests."""
    request_size: Message = 1
    """Bytes of payload of a request."""
    response_size: Message = 1
    """Bytes of payload of a response."""


class _Transactions(Measurement[TransactionParameters]):
    Parameters = TransactionParameters
    connects: ClassVar[bool]
    """Whether each has a connection of its own."""

    @classmethod
    def estimate_s(cls, parameters: TransactionParameters) -> float:
        return parameters.duration_s

    @classmethod
    def truths(cls, known: KnownPath, parameters: TransactionParameters) -> Sequence[Truth]:
        sizes = (parameters.request_size, parameters.response_size)
        if max(sizes) > known.mtu - TCP_HEADERS:
            return []  # several segments, and slow start between them
        trip_ns = known.round_trip_ns(*(size + TCP_HEADERS for size in sizes))
        connecting_ns = known.round_trip_ns(SYN_BYTES) if cls.connects else 0.0
        took_ns = connecting_ns + trip_ns
        words = "two round trips" if cls.connects else "one round trip"
        wakes_ns = LATE_NS if cls.connects else 0.0  # a wake-up at each end for each round trip
        metrics = ["transaction_p50_us", "transaction_min_us"]
        found = known.times(metrics, "us", took_ns, words, longer_ns=wakes_ns)
        if cls.connects:
            metrics = ["connect_p50_us", "connect_min_us"]
            found += known.times(metrics, "us", connecting_ns, "one round trip")
        if known.fills and took_ns > SLOW_NS:
            least = 1e9 / (took_ns * (1 + SHORT) + LATE_NS + wakes_ns)
            most = 1e9 / took_ns
            found.append(Truth("transactions_per_s", most, least, most, f"{words} each"))
        return found

    def run(self, session: Session, parameters: TransactionParameters) -> Outcome:
        inner = session.inner(session.target)
        with session.watch(sample_one_in=1) as watched:
            marked = _send_marked(session)
            found, responded = self._ask(session, parameters, inner, parameters.duration_s)
        underlay = str(session.target.underlay.reached_at.ip)
        ceiling = (
            self._ask(session, parameters, underlay, CEILING_S)[0]
            if bare_link_tells(session)
            else None
        )
        # A proxy accepts connections on the same node: connecting takes no time of the path.
        connect = None if session.vpn.carries is Carried.PAYLOAD else found.connect
        values = {
            "transactions_per_s": found.per_second,
            "transactions": found.transactions,
            **_times("transaction", found, found.transactions),
            **_times("connect", connect, found.transactions),
            "failed_transactions": found.failed,
            "ceiling_transactions_per_s": None if ceiling is None else ceiling.per_second,
        }
        declared = {spec.name for spec in self.metrics}
        return Outcome(
            metrics=measured(
                self.metrics, {name: at for name, at in values.items() if name in declared}
            ),
            watched=[watched],
            traffic=add_traffic(
                marked,
                transaction_traffic(
                    found.tcp_info or TcpInfo(),
                    responded.tcp_info or TcpInfo(),
                    responded.connections,
                ),
            ),
            histograms=Histogram.all(transaction_ns=found, connect_ns=connect),
            doubts=[_answered(found)],
        )

    def _ask(
        self, session: Session, parameters: TransactionParameters, to: str, duration_s: float
    ) -> tuple[Transacted, Responded]:
        responder = session.b.begin(
            "tcp_responder", bind=to, token=session.token, idle_s=duration_s + SLACK_S
        )
        answer = session.a.call(
            self.kind,
            duration_s + SLACK_S,
            connect=to,
            port=responder.port(),
            request_size=parameters.request_size,
            response_size=parameters.response_size,
            duration_s=duration_s,
            **session.marks,
        )
        return parse(Transacted, answer), parse(Responded, responder.stop())


class TcpRr(_Transactions):
    """Over one connection from node a to node b."""

    kind: ClassVar[str] = "tcp_rr"
    title: ClassVar[str] = "TCP requests on one connection"
    summary: ClassVar[str] = "requests and responses per second over one TCP connection"
    metrics: ClassVar[Sequence[MetricSpec]] = _METRICS
    connects: ClassVar[bool] = False


class TcpCrr(_Transactions):
    """Over a connection of its own for each request."""

    kind: ClassVar[str] = "tcp_crr"
    title: ClassVar[str] = "TCP requests on a connection each"
    summary: ClassVar[str] = "connections per second, each with a request and its response"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        *_METRICS,
        *family(
            "connect_{}_us",
            "us",
            "Time to connect",
            STATISTICS,
            Better.LESS,
            ways=2,
            of_packets=True,
        ),
        MetricSpec("failed_transactions", "transactions", "Transactions that failed", Better.LESS),
    )
    connects: ClassVar[bool] = True


def _send_marked(session: Session) -> InnerTraffic:
    """A few echo requests with the canary: one-byte messages cannot carry it."""
    echo = Echo(session, SLACK_S)
    sent = echo.rtt(
        rate_pps=MARKED_PPS,
        count=MARKED,
        payload_size=MARKED_BYTES - UDP_HEADERS,
        timeout_ms=session.patience_ms(MARKED_TIMEOUT_MS),
    )
    return echo_traffic(sent.sent, echo.close().packets, sent.received, MARKED_BYTES)


def _times(what: str, times: Times | None, count: int) -> dict[str, float | None]:
    if times is None:
        return {}
    return {f"{what}_{name}_us": times.us(name, count) for name in STATISTICS}


def _answered(found: Transacted) -> Check:
    requests = found.transactions + found.failed
    return Check(
        "requests are answered",
        found.transactions > 0 and found.failed <= MAX_ERRORS * requests,
        f"{found.transactions} of {requests} requests were answered"
        + (f"; {found.errors}" if found.errors else ""),
        "the others failed and have no time: check what the tunnel does to new connections",
    )

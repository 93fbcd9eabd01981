"""``http``: how long a page of many objects takes over HTTP/2 or HTTP/3.

::

    connect ── TLS ── request all objects ─┬─ first byte ──── last byte
                                           ├─ first byte ── last byte
                                           └─ first byte ─────────── last byte: the page is loaded

The payload is encrypted by TLS, so the canary travels in a marked flow beside it (``marked``).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from culvert.measurements.apps.marked import MarkedFlow
from culvert.measurements.apps.quic import PERCENTILES, datagram_traffic, flight_ns, times_ms
from culvert.measurements.base import SAMPLE_ONE_IN, BaseParameters, Measurement
from culvert.measurements.parameters import Duration
from culvert.measurements.streams.packet import TCP_HEADERS, UDP_HEADERS
from culvert.measurements.streams.tcp_packets import exchange_traffic
from culvert.measurements.streams.udp_stream import SLACK_S
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight, family
from culvert.probe.results import HttpLoaded, HttpServed, SecureServer, TcpInfo, parse
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth
from culvert.results import Histogram, Label, Metric, Series, measured
from culvert.study.table import problem
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import InnerTraffic, add_traffic
from culvert.units import DurationS, SizeBytes, plural

MOST_OBJECTS = 256
"""As many as the server sends at once."""
LARGEST_OBJECT = 64 << 20
SLOW_START_TRIPS = 6
"""Round trips in which a window of ten segments (RFC 6928) does not fill the path yet: it is
doubled in each, to 64 times as much."""
MAX_ERRORS = 0.1
"""Share of pages that may fail."""
LESS, MORE = Better.LESS, Better.MORE
Count = Annotated[int, Field(ge=0, le=MOST_OBJECTS)]
ObjectSize = Annotated[SizeBytes, Field(ge=1, le=LARGEST_OBJECT)]


class Version(IntEnum):
    """Of HTTP."""

    TWO = 2
    """Over TLS and TCP."""
    THREE = 3
    """Over QUIC."""


class Connections(StrEnum):
    """Which connection a page is loaded over."""

    FRESH = "fresh"
    """One of its own, with a full handshake."""
    REUSED = "reused"
    """That of the page before."""


class HttpParameters(BaseParameters):
    """Parameters of pages; by default one of 2.4 MB, about the median of the web's pages."""

    version: Annotated[Version, Label("HTTP/{}")] = Version.TWO
    """HTTP/2 over TLS and TCP, or HTTP/3 over QUIC."""
    connection: Annotated[Connections, Label("{} connection")] = Connections.FRESH
    """A connection for each page, or one for all."""
    small_objects: Annotated[Count, Label("{} small objects", {60: ""})] = 60
    """Small objects of a page."""
    small_size: Annotated[ObjectSize, Label("small objects of {}", {"20kB": ""})] = 20_000
    """Bytes of a small object."""
    large_objects: Annotated[Count, Label("{} large objects", {3: ""})] = 3
    """Large objects of a page."""
    large_size: Annotated[ObjectSize, Label("large objects of {}", {"400kB": ""})] = 400_000
    """Bytes of a large object."""
    duration_s: Duration = 5.0
    """Time in which pages begin, one after the other."""
    timeout_s: Annotated[DurationS, Field(gt=0, le=600), Label("{} for a page", {"30s": ""})] = (
        Field(30.0, alias="timeout")
    )
    """Longest time of a page."""

    @model_validator(mode="after")
    def _has_objects(self) -> Self:
        if not 1 <= len(self.objects) <= MOST_OBJECTS:
            why = f"a page has 1 to {MOST_OBJECTS} objects, not {len(self.objects)}"
            remedy = "change small_objects or large_objects"
            raise problem(why, remedy)
        return self

    @property
    def objects(self) -> list[int]:
        """Bytes of each object, in the order of the requests: the large ones are among the small
        ones, as in a page."""
        every = max(self.small_objects // (self.large_objects + 1), 1)
        found: list[int] = [self.small_size] * self.small_objects
        for number in range(self.large_objects, 0, -1):
            found.insert(number * every, self.large_size)
        return found


class Http(Measurement[HttpParameters]):
    """Pages that node a loads from node b."""

    kind: ClassVar[str] = "http"
    title: ClassVar[str] = "Web pages"
    summary: ClassVar[str] = "load time of pages over HTTP/2 and HTTP/3, objects per second"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "page_load_p50_ms",
            "ms",
            "Load time of a page, median",
            LESS,
            Weight.MAIN,
            column=HeadlineColumn(
                "Page load",
                key="http",
                place=50,
                superlative="Fastest pages",
                sentence="takes {} the time to load a page",
                smallest="version",
            ),
            ways=2,
        ),
        *family("page_load_{}_ms", "ms", "Load time of a page", PERCENTILES[1:], LESS, ways=2),
        *family("first_byte_{}_ms", "ms", "Time to the first byte", PERCENTILES, LESS, ways=2),
        *family("handshake_{}_ms", "ms", "Time to connect", PERCENTILES, LESS, ways=2),
        MetricSpec("objects_per_s", "1/s", "Objects per second", MORE, Weight.KEY),
        MetricSpec("goodput_bps", "bit/s", "Goodput", MORE),
        MetricSpec("pages", "pages", "Pages loaded", MORE),
        MetricSpec("failed_pages", "pages", "Pages that failed", LESS),
    )
    Parameters = HttpParameters
    saturates: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: HttpParameters) -> float:
        return parameters.duration_s + 1

    @classmethod
    def truths(cls, known: KnownPath, parameters: HttpParameters) -> Sequence[Truth]:
        trips = 1 if parameters.version is Version.THREE else 2
        if parameters.connection is Connections.REUSED:
            trips = 0
        trip_ns = known.round_trip_ns()
        share = known.payload_share([known.mtu], TCP_HEADERS)
        rate_bps = known.rate_bps(upward=False)
        sent_ns = 8e9 * sum(parameters.objects) / (share * rate_bps) if rate_bps else 0.0
        starting_ns = trip_ns * SLOW_START_TRIPS + flight_ns(known)
        words = (
            f"{plural(trips + 1, 'round trip')}, and the time of {sum(parameters.objects):,} bytes"
        )
        found = [
            *known.times(
                ["page_load_p50_ms"],
                "ms",
                (trips + 1) * trip_ns + sent_ns,
                words,
                longer_ns=starting_ns,
            ),
            *known.times(
                ["handshake_p50_ms"] if trips else [],
                "ms",
                trips * trip_ns,
                f"{plural(trips, 'round trip')}, and cryptography",
                longer_ns=flight_ns(known),
            ),
        ]
        least = UDP_HEADERS if parameters.version is Version.THREE else TCP_HEADERS
        carried = known.payload(["goodput_bps"], [], least, parameters.duration_s, False)
        return [*found, *carried]

    def run(self, session: Session, parameters: HttpParameters) -> Outcome:
        marked = MarkedFlow(session, parameters.duration_s)
        with session.watch(sample_one_in=SAMPLE_ONE_IN, marked_run=marked.marked_run) as watched:
            marked.start()
            loaded, served = _load(session, parameters)
            beside = marked.finish()
        return Outcome(
            metrics=_metrics(loaded),
            watched=[watched],
            traffic=add_traffic(beside, _traffic(parameters.version, loaded, served)),
            goodput_bytes=loaded.bytes,
            series=_series(loaded),
            histograms=_histograms(loaded),
            doubts=[marked.check(), _answered(loaded)],
        )


def _load(session: Session, parameters: HttpParameters) -> tuple[HttpLoaded, HttpServed]:
    lasting_s = parameters.duration_s + parameters.timeout_s + SLACK_S
    to = session.inner(session.target)
    server = session.b.begin(
        "http_server",
        version=str(parameters.version.value),
        bind=to,
        duration_max_s=lasting_s,
        **session.marks,
    )
    ready = parse(SecureServer, server.ready())
    answer = session.a.call(
        "http_client",
        lasting_s,
        version=str(parameters.version.value),
        to=to,
        port=ready.port,
        token=session.token,
        certificate=ready.certificate,
        objects=parameters.objects,
        fresh=parameters.connection is Connections.FRESH,
        duration_s=parameters.duration_s,
        page_timeout_s=parameters.timeout_s,
    )
    return parse(HttpLoaded, answer), parse(HttpServed, server.stop())


def _traffic(version: Version, loaded: HttpLoaded, served: HttpServed) -> InnerTraffic:
    if version is Version.THREE:
        return datagram_traffic(loaded.udp, served.udp, loaded.connections)
    return exchange_traffic(
        loaded.tcp_info or TcpInfo(), served.tcp_info or TcpInfo(), loaded.connections
    )


def _metrics(loaded: HttpLoaded) -> list[Metric]:
    seconds = max(loaded.seconds, 1e-9)
    values = {
        **times_ms("page_load", loaded.page, len(loaded.pages)),
        **times_ms("first_byte", loaded.first_byte, loaded.objects),
        **times_ms("handshake", loaded.connect, loaded.connections),
        "objects_per_s": loaded.objects / seconds,
        "goodput_bps": 8 * loaded.bytes / seconds,
        "pages": len(loaded.pages),
        "failed_pages": loaded.failed,
    }
    return measured(Http.metrics, values)


def _series(loaded: HttpLoaded) -> list[Series]:
    points = ((began_ns, page_ns / 1e6) for began_ns, page_ns in loaded.pages)
    return [Series.of("page_load_ms", "ms", points)]


def _histograms(loaded: HttpLoaded) -> list[Histogram]:
    return Histogram.all(
        page_load_ns=loaded.page,
        first_byte_ns=loaded.first_byte,
        handshake_ns=loaded.connect,
    )


def _answered(loaded: HttpLoaded) -> Check:
    pages = len(loaded.pages)
    return Check(
        "pages are loaded",
        pages > 0 and loaded.failed <= MAX_ERRORS * (pages + loaded.failed),
        f"{pages} of {pages + loaded.failed} pages arrived whole"
        + (f"; {loaded.errors}" if loaded.errors else ""),
        "the others failed and have no time: allow more time with timeout, or load smaller pages",
    )

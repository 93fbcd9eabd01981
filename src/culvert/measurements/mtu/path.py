"""Which packets cross in one direction, and what happens to those that do not.

::

    sender ─ inner device ─ tunnel ─ link ─ tunnel ─ inner device ─ receiver
      │ echo request, don't fragment          │ fragments?  │ seen whole?
      └ refused (EMSGSIZE)? path MTU learned?

Arrivals are observed at the receiver, so the result is of this direction only, even if answers are
lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from culvert.labs.node import Node
from culvert.labs.witness import View
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.client import Probe, Task
from culvert.probe.results import Captured, EchoOnce, parse
from culvert.trial.outside import Capture
from culvert.trial.session import Session

ATTEMPTS = 3
TIMEOUT_MS = 100
UDP = 17
RECORDED = 32


class Fate(StrEnum):
    """What happens to a packet with the don't-fragment flag."""

    WHOLE = "crossed whole"
    FRAGMENTED = "crossed, in fragments on the link"
    REFUSED = "refused, and the sender was notified"
    VANISHED = "vanished, and the sender was not notified"

    @property
    def arrived(self) -> bool:
        """Whether it came out of the tunnel."""
        return self in (Fate.WHOLE, Fate.FRAGMENTED)


@dataclass(frozen=True)
class PathEnd:
    """A node and the probe on it."""

    node: Node
    probe: Probe


def fate(*, arrived: bool, fragments: int, error: str | None, pmtu: int | None, size: int) -> Fate:
    """What the observations of one size mean."""
    if arrived:
        return Fate.FRAGMENTED if fragments else Fate.WHOLE
    notified = error == "EMSGSIZE" or (pmtu is not None and pmtu < size)
    return Fate.REFUSED if notified else Fate.VANISHED


def largest(low: int, high: int, good: Callable[[int], bool]) -> int | None:
    """The largest size from ``low`` to ``high`` that is good, if all below it are; None if not
    even ``low`` is. ``high`` is tried first: it is usually good."""
    if high >= low and good(high):
        return high
    if high <= low or not good(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if good(middle):
            low = middle
        else:
            high = middle
    return low


class OneWayMtu:
    """Packets from ``source`` to ``target`` inside the tunnel. A context manager."""

    def __init__(self, session: Session, source: PathEnd, target: PathEnd) -> None:
        self._session = session
        self._source = source
        self._target = target
        self._known: dict[int, Fate] = {}

    def __enter__(self) -> OneWayMtu:
        self._to = self._session.inner(self._target.node)
        self._echo = self._target.probe.begin(
            "echo", bind=self._to, token=self._session.token, idle_s=60
        )
        self._port = self._echo.port()
        return self

    def __exit__(self, *_: object) -> None:
        self._echo.stop()

    def fate(self, size: int) -> Fate:
        """Fate of an inner packet of ``size`` bytes; tested once for each size."""
        if size not in self._known:
            self._known[size] = self._try(size)
        return self._known[size]

    def _try(self, size: int) -> Fate:
        inside, outside = self._inside(), self._outside()
        inside.ready()
        outside.ready()
        answer = self._request(size, df=True)
        seen, link = parse(Captured, inside.stop()), outside.end()
        return fate(
            arrived=answer.answered or any(packet.length == size for packet in seen.recorded),
            fragments=link.fragments,
            error=answer.error,
            pmtu=answer.pmtu,
            size=size,
        )

    def inside_fragments(self, size: int) -> bool:
        """Whether a packet longer than the interface's MTU, fragmented by the sender's own kernel,
        comes back unchanged."""
        return self._request(size, df=False).answered

    def _request(self, size: int, *, df: bool) -> EchoOnce:
        """Echo requests of ``size`` bytes until one is answered."""
        timeout_ms = self._session.patience_ms(TIMEOUT_MS)
        answer = self._source.probe.call(
            "echo_once",
            ATTEMPTS * timeout_ms / 1000 + 5,
            to=self._to,
            port=self._port,
            payload_size=size - UDP_HEADERS,
            df=df,
            attempts=ATTEMPTS,
            timeout_ms=timeout_ms,
            **self._session.marks,
        )
        return parse(EchoOnce, answer)

    def _inside(self) -> Task:
        """What comes out of the tunnel for the reflector."""
        return self._target.probe.begin(
            "capture",
            device=self._session.vpn.interface(self._target.node),
            direction="in",
            sample_one_in=1,
            flow={"protocol": UDP, "ports": [self._port]},
            record=RECORDED,
            snaplen_record=0,
        )

    def _outside(self) -> Capture:
        """What the link carries towards the reflector."""
        return self._session.outside.begin(self._target.node.name, View.TOWARDS, record=0)

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
from enum import StrEnum
from typing import Self

from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.client import Task
from culvert.probe.results import Captured, EchoOnce, parse
from culvert.trial.echo import Echo
from culvert.trial.outside import Capture, View
from culvert.trial.session import Session

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
        return self in (Fate.WHOLE, Fate.FRAGMENTED)


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
    """Packets from one end of the path to the other inside the tunnel, ``upward`` from node a to
    node b. A context manager."""

    def __init__(self, session: Session, *, upward: bool) -> None:
        self._session = session
        self._upward = upward
        ends = (session.source, session.target)
        self.source, self._target = ends if upward else ends[::-1]
        self._known: dict[int, Fate] = {}

    def __enter__(self) -> Self:
        self._echo = Echo(self._session, idle_s=60, upward=self._upward)
        return self

    def __exit__(self, *_: object) -> None:
        self._echo.close()

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
        timeout_ms = self._session.patience_ms(TIMEOUT_MS)
        return self._echo.once(size - UDP_HEADERS, df=df, timeout_ms=timeout_ms)

    def _inside(self) -> Task:
        """What comes out of the tunnel for the reflector."""
        return self._session.ends[self._target.name].begin(
            "capture",
            device=self._session.vpn.interface(self._target),
            direction="in",
            sample_one_in=1,
            flow={"protocol": UDP, "ports": [self._echo.port]},
            record=RECORDED,
            snaplen_record=0,
        )

    def _outside(self) -> Capture:
        """What the link carries towards the reflector."""
        return self._session.outside.begin(self._target.name, View.TOWARDS, record=0)

"""Requests to a server and their answers, from the probe or from hey. Pure."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from culvert.measurements.instruments.base import InstrumentError
from culvert.probe.results.base import Result

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
_LATE_NS = 100_000_000
OK = range(200, 300)


class HttpsResult(Result):
    """The probe's result; rows as docs/probe-protocol.md lists them."""

    sent: int
    connections: int
    requests: list[tuple[int, int, int | None, int, int]]


@dataclass(frozen=True)
class Request:
    """One request: ``due_ns`` after the start; ``response_ns`` from when it was due (for hey: from
    when it was sent) to the end of its answer, None without one; ``status`` 0 then."""

    due_ns: int
    response_ns: int | None
    status: int
    late_ns: int = 0


def of_probe(found: HttpsResult) -> list[Request]:
    """Times from when each request was due, so that a stall counts in all that it delays."""
    return [
        Request(due, None if answered is None else answered - due, status, sent - due)
        for due, sent, answered, status, _ in found.requests
    ]


def of_hey(text: str) -> list[Request]:
    """From hey's CSV: seconds from sending to the end of the answer, and the offset of sending.

    Raises InstrumentError for anything else.
    """
    try:
        rows = list(csv.DictReader(text.splitlines()))
        found = [
            Request(
                round(float(row["offset"]) * NS_PER_S),
                round(float(row["response-time"]) * NS_PER_S),
                int(row["status-code"]),
            )
            for row in rows
        ]
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InstrumentError(
            "hey", f"its output is not understood: {error}", "run it by hand in the pod"
        ) from error
    return sorted(found, key=lambda request: request.due_ns)


@dataclass(frozen=True)
class Responses:
    """All requests of a trial."""

    requests: Sequence[Request]
    planned: int

    @property
    def times_ms(self) -> list[float]:
        """Of the successful ones, sorted."""
        return sorted(
            one.response_ns / NS_PER_MS
            for one in self.requests
            if one.response_ns is not None and one.status in OK
        )

    @property
    def refused(self) -> dict[int, int]:
        """Answers that are not a success, by status."""
        statuses = (one.status for one in self.requests if one.response_ns is not None)
        return dict(Counter(status for status in statuses if status not in OK))

    @property
    def unanswered(self) -> int:
        """Requests without an answer; hey does not list them."""
        answered = sum(one.response_ns is not None for one in self.requests)
        return self.planned - answered

    @property
    def failed(self) -> int:
        """Requests without a success."""
        return self.planned - len(self.times_ms)

    @property
    def late(self) -> int:
        """Requests that were sent 100 ms late or more."""
        return sum(one.late_ns >= _LATE_NS for one in self.requests)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the sorted values do not exceed."""
    # Rounded, because 100 * 0.07 is a little more than 7.
    return ordered[max(math.ceil(round(share * len(ordered), 6)) - 1, 0)]

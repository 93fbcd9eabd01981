"""Requests and events over two pipes."""

from __future__ import annotations

import io
import json
import queue
import time
from typing import Any

import pytest

from culvert.exchange import MOST_LINE, Event, Exchange


class Kept(io.BytesIO):
    """What was written, line by line."""

    @property
    def requests(self) -> list[Any]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


def exchange(output: bytes, **given: Any) -> tuple[Exchange, Kept]:
    written = Kept()
    return Exchange(written, io.BytesIO(output), "test", **given), written


def test_requests_have_numbers_and_no_parameter_that_is_none() -> None:
    made, written = exchange(b"")
    first = made.open("udp_source", rate_pps=None, port=1)
    made.post("beat")
    made.send(first.number, "stop")
    assert written.requests == [
        {"id": 1, "do": "udp_source", "port": 1},
        {"id": 2, "do": "beat"},
        {"id": 1, "do": "stop"},
    ]


def test_events_reach_their_request_and_the_end_reaches_all() -> None:
    made, _ = exchange(b'{"id":2,"n":2}\n{"id":1,"n":1}\n{"id":7}\n')
    first, second = made.open("a"), made.open("b")
    made.begin()
    assert [first.next(5), first.next(5)] == [{"id": 1, "n": 1}, None]
    assert [second.next(5), second.next(5)] == [{"id": 2, "n": 2}, None]
    with pytest.raises(queue.Empty):
        first.next(0)


def test_what_was_forgotten_gets_nothing() -> None:
    made, _ = exchange(b'{"id":1}\n')
    replies = made.open("a")
    made.forget(replies.number)
    made.begin()
    made.join(5)
    with pytest.raises(queue.Empty):
        replies.next(0)


@pytest.mark.parametrize("line", [b"motd", b"[1]", b"{}", b'{"id":null}', b'{"id":"1"}', b"\xff"])
def test_a_line_without_a_number_is_a_strangers(line: bytes) -> None:
    made, _ = exchange(line + b'\n{"id":1}\n')
    quiet = made.open("a")
    made.begin()
    assert quiet.next(5) == {"id": 1}
    seen: list[bytes] = []

    def stray(found: bytes) -> Event:
        seen.append(found)
        return {"event": "error"}

    made, _ = exchange(line + b"\n", stray=stray)
    both = [made.open("a"), made.open("b")]
    made.begin()
    assert [one.next(5) for one in both] == [{"event": "error"}] * 2
    assert seen == [line + b"\n"]


def test_a_line_without_an_end_ends_the_exchange() -> None:
    made, _ = exchange(b"x" * (MOST_LINE + 1))
    replies = made.open("a")
    made.begin()
    assert replies.next(60) is None


def test_a_deadline_is_kept() -> None:
    made, _ = exchange(b"")
    begun = time.monotonic()
    with pytest.raises(queue.Empty):
        made.expect(5).next(0.05)
    assert time.monotonic() - begun >= 0.05

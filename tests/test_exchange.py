"""Requests and events over two pipes."""

from __future__ import annotations

import io
import json
import os
import select
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from culvert.errors import DeadlineExceeded, LabError, ProbeError
from culvert.exchange import MOST_LINE, Event, Exchange


class Kept(io.BytesIO):
    """What was written, line by line."""

    @property
    def requests(self) -> list[Any]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


def exchange(output: bytes, **given: Any) -> tuple[Exchange, Kept]:
    written = Kept()
    return Exchange(written, io.BytesIO(output), "node a", lost, **given), written


def lost(during: str) -> LabError:
    return LabError("the agent", f"it has ended during {during}", "start it again")


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
    for replies, event in ((first, {"id": 1, "n": 1}), (second, {"id": 2, "n": 2})):
        assert replies.next(5) == event
        with pytest.raises(LabError, match=f"has ended during {replies.do}"):
            replies.next(5)
    with pytest.raises(DeadlineExceeded):
        first.next(0)


def test_events_are_read_while_a_request_waits_for_the_agent() -> None:
    """An agent that cannot print reads no request: both would wait for each other."""
    input_read, input_written = os.pipe()
    output_read, output_written = os.pipe()
    given = os.fdopen(input_written, "wb")
    made = Exchange(given, os.fdopen(output_read, "rb"), "node a", lost)
    replies = made.expect(7, "a")
    made.begin()

    def ask() -> None:
        with suppress(LabError):
            made.send(8, "write", data="x" * (1 << 20))

    asking = threading.Thread(target=ask)
    asking.start()
    assert select.select([input_read], [], [], 30)[0]  # it has begun, and nobody reads the rest
    os.write(output_written, b'{"id":7}\n')
    try:
        assert replies.next(30) == {"id": 7}
    finally:
        os.close(input_read)
        asking.join(30)
        os.close(output_written)
        with suppress(BrokenPipeError):
            given.close()


def test_what_was_forgotten_gets_nothing() -> None:
    made, _ = exchange(b'{"id":1}\n')
    replies = made.open("a")
    made.forget(replies.number)
    made.begin()
    made.join(5)
    with pytest.raises(DeadlineExceeded):
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
        return {"event": "stray"}

    made, _ = exchange(line + b"\n", stray=stray)
    both = [made.open("a"), made.open("b")]
    made.begin()
    assert [one.next(5) for one in both] == [{"event": "stray"}] * 2
    assert seen == [line + b"\n"]


def test_a_line_without_an_end_ends_the_exchange() -> None:
    made, _ = exchange(b"x" * (MOST_LINE + 1))
    replies = made.open("a")
    made.begin()
    with pytest.raises(LabError, match="has ended"):
        replies.next(60)


def test_a_deadline_is_kept() -> None:
    made, _ = exchange(b"")
    begun = time.monotonic()
    with pytest.raises(DeadlineExceeded, match="probe task read on node a: no 'done' within"):
        made.expect(5, "read").next(0.05, "done")
    assert time.monotonic() - begun >= 0.05


def test_an_error_of_the_agent_is_raised() -> None:
    said = {"event": "error", "what": "/x", "why": "there is none", "remedy": "write it"}
    lines = [{"id": 1, **said}, {"id": 2, **said, "errno": 2}]
    made, _ = exchange(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    first, second = made.open("read"), made.open("read")
    made.begin()
    with pytest.raises(ProbeError, match="read on node a: /x: there is none") as error:
        first.next(5)
    assert error.value.remedy == "write it"
    with pytest.raises(FileNotFoundError, match="/x"):
        second.next(5)


@pytest.mark.parametrize("event", ["done", "error"])
def test_a_request_that_has_ended_is_forgotten(event: str) -> None:
    made, _ = exchange(json.dumps({"id": 1, "event": event}).encode() + b"\n")
    ended, goes_on = made.open("a"), made.open("b")
    made.begin()
    with suppress(ProbeError):
        ended.next(5)
    with pytest.raises(LabError, match="during b"):
        goes_on.next(5)
    assert list(made._replies) == [goes_on.number]


def test_an_agent_that_is_gone_gets_no_request() -> None:
    made, written = exchange(b"")
    written.close()
    with pytest.raises(LabError, match="has ended during read"):
        made.open("read")

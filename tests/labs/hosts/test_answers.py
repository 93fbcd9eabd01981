"""What a program's answer is, from the events of an agent: no host is needed."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from culvert.errors import LabError
from culvert.exchange import Exchange
from culvert.labs.hosts.remote.agent import Agent, encoded
from culvert.labs.hosts.remote.process import RemoteProcess
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.waiting import wait_until

STARTED = {"event": "started", "pid": 7, "started_ns": 1}
EXITED = {"event": "exited", "code": 3}
PRINTED = {"event": "output", "stream": "out", "data": encoded(b"words")}
CLOSED = ({"event": "closed", "stream": "out"}, {"event": "closed", "stream": "err"})


class Answering(io.BytesIO):
    """The input of an agent that has all answers to the first request."""

    def __init__(self, lines: bytes) -> None:
        super().__init__()
        self._lines = lines
        reader, self._writer = os.pipe()
        self.answers = os.fdopen(reader, "rb")

    def flush(self) -> None:
        if self._lines:
            os.write(self._writer, self._lines)
            os.close(self._writer)
            self._lines = b""


def started(*events: dict[str, Any]) -> tuple[RemoteProcess, Exchange]:
    lines = b"".join(json.dumps({"id": 1, **event}).encode() + b"\n" for event in events)
    host = Answering(lines)
    agent = Exchange(host, host.answers, "host a", lambda _: LabError("a", "b", "c"))
    agent.begin()
    made = RemoteProcess(
        cast("Agent", agent), ["x"], name="x", env={}, log=None, pipes=True, once=True
    )
    return made, agent


def test_an_agent_that_needs_another_c_library(tmp_path: Path) -> None:
    """Root and the directory are tried before: what is left is the program itself."""
    errors = tmp_path / "errors"

    def start(command: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with errors.open("wb") as stderr:
            return subprocess.Popen(["sh", "-c", command], stdin=pipe, stdout=pipe, stderr=stderr)

    there = SimpleNamespace(alive=lambda: True, start=start, errors=errors.read_text)
    agent = Agent("a", cast("SshConnection", there), "/nonexistent/culvert-probe host")
    with pytest.raises(LabError, match=r"did not start: .*not found") as caught:
        agent.start(b"", timeout_s=30)
    assert "make probe-static" in caught.value.remedy
    agent.close()


@pytest.fixture(autouse=True)
def _named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exchange, "name", "a", raising=False)


@pytest.mark.parametrize(
    "events", [(PRINTED, *CLOSED, EXITED), (EXITED, PRINTED, *CLOSED)], ids=["before", "after"]
)
def test_what_a_program_printed_is_its_answer_and_nothing_of_it_stays(
    events: tuple[dict[str, Any], ...],
) -> None:
    made, agent = started(STARTED, *events)
    assert made.communicate(None, timeout_s=5) == (b"words", b"")
    assert made.returncode() == 3
    wait_until(lambda: not agent._replies, what="its request is forgotten", deadline_s=5)

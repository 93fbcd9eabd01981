"""The agent's client against agents that lie, die or keep silent."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import DeadlineExceeded, ProbeError
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.probe import client
from culvert.probe.client import Probe
from culvert.probe.results import EchoOnce, UdpSunk, parse

AGENT = """
import json, sys
answers = json.loads(sys.argv[1])
for line in sys.stdin:
    request = json.loads(line)
    for answer in answers.pop(0) if answers else []:
        if answer == "DIE":
            print("it hurts", file=sys.stderr)
            sys.stdout.flush()
            sys.exit(3)
        if answer == "HANG UP":
            sys.stdout.flush()
            import os; os.close(1)
            sys.stdin.read()
        sys.stdout.buffer.write(answer.encode("latin-1").replace(b"ID", b"%d" % request["id"]))
        sys.stdout.buffer.write(b"\\n")
    sys.stdout.flush()
"""


class FakeProcess(Process):
    """A process without a lab."""

    def __init__(self, popen: subprocess.Popen[bytes], log: Path) -> None:
        self._popen = popen
        self.log = log
        self._stdin, self._stdout = popen.stdin, popen.stdout

    @property
    def pid(self) -> int:
        return self._popen.pid

    def alive(self) -> bool:
        return self.returncode() is None

    def returncode(self) -> int | None:
        return self._popen.poll()

    def stop(self, *, grace_s: float = 0.0) -> None:
        del grace_s
        self._popen.kill()
        self._popen.wait()


class FakeNode:
    """Spawns the fake agent with its answers."""

    name = "a"

    def __init__(self, answers: Sequence[Sequence[str]], log: Path) -> None:
        self._answers = json.dumps(answers)
        self._log = log

    def require(self, program: str, remedy: str) -> str:
        del remedy
        return program

    def spawn(self, argv: Sequence[str], *, name: str, pipes: bool) -> Process:
        assert argv[1:] == ["agent"]
        with self._log.open("wb") as sink:
            popen = subprocess.Popen(
                [sys.executable, "-S", "-c", AGENT, self._answers],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
            )
        return cast("Process", FakeProcess(popen, self._log))


Agent = Callable[..., Probe]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """``agent([...], [...])``: the lines that are answered to each request; ID is its id."""
    probes = []
    numbers = itertools.count()

    def start(*answers: Sequence[str]) -> Probe:
        node = FakeNode(answers, tmp_path / f"{next(numbers)}.log")
        probes.append(Probe(cast("Node", node)))
        return probes[-1]

    yield start
    for probe in probes:
        probe.close()


READY = '{"id":ID,"event":"ready","port":40001}'
DONE = '{"id":ID,"event":"done","result":{"answered":true}}'


def test_a_task_is_ready_and_done(agent: Agent) -> None:
    task = agent([READY, '{"id":ID,"event":"interval","t_ns":1}', DONE]).begin("echo")
    assert task.port() == 40001
    assert task.result(5) == {"answered": True}
    assert [interval["t_ns"] for interval in task.intervals] == [1]


def test_answers_reach_the_task_that_they_belong_to(agent: Agent) -> None:
    other = '{"id":1,"event":"done","result":{"n":1}}'
    probe = agent([], ['{"id":2,"event":"done","result":{"n":2}}', other])
    first, second = probe.begin("x"), probe.begin("y")
    assert (first.result(5), second.result(5)) == ({"n": 1}, {"n": 2})


def test_an_error_of_the_agent_is_told_in_its_words(agent: Agent) -> None:
    error = '{"id":ID,"event":"error","what":"port 7","why":"is taken","remedy":"free it"}'
    with pytest.raises(ProbeError, match="echo on node a: port 7: is taken") as caught:
        agent([error]).begin("echo").ready()
    assert caught.value.remedy == "free it"


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "\xff\xfe",
        "[1]",
        "1",
        "null",
        '{"id":[1],"event":"done"}',
        '{"id":"1","event":"done"}',
        '{"id":{},"event":"done"}',
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_answer_is_an_error_of_every_task(agent: Agent, line: str) -> None:
    probe = agent([line])
    with pytest.raises(ProbeError, match="invalid line") as caught:
        probe.begin("echo").ready()
    assert caught.value.remedy
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "line",
    [
        '{"id":ID,"event":"ready"}',
        '{"id":ID,"event":"ready","port":"x"}',
        '{"id":ID,"event":"ready","port":0}',
        '{"id":ID,"event":"ready","port":70000}',
    ],
)
def test_a_port_that_is_none_is_an_error(agent: Agent, line: str) -> None:
    with pytest.raises(ProbeError, match="its answer is invalid"):
        agent([line]).begin("echo").port()


@pytest.mark.parametrize(
    "line", ['{"id":ID,"event":"done"}', '{"id":ID,"event":"done","result":[1]}']
)
def test_a_result_that_is_none_is_an_error(agent: Agent, line: str) -> None:
    with pytest.raises(ProbeError, match="its answer is invalid"):
        agent([line]).call("rtt", 5)


def test_answers_to_strangers_are_left_alone(agent: Agent) -> None:
    lines = ['{"id":99,"event":"error","what":"x"}', '{"id":ID,"event":"unheard-of"}', DONE]
    assert agent(lines).call("x", 5) == {"answered": True}


def test_an_agent_that_dies_says_why(agent: Agent) -> None:
    probe = agent([READY], ["DIE"])
    first, second = probe.begin("echo"), probe.begin("rtt")
    first.ready()
    for task in (first, second):
        with pytest.raises(ProbeError, match=r"exit code 3\) during (echo|rtt): it hurts"):
            task.result(5)
    with pytest.raises(ProbeError, match="exit code 3"):
        probe.begin("udp_sink")


def test_an_agent_that_hangs_up_but_lives_is_gone(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_END_S", 0.01)
    with pytest.raises(ProbeError, match="it closed its output during rtt"):
        agent(["HANG UP"]).call("rtt", 5)


def test_silence_ends_with_the_deadline(agent: Agent) -> None:
    with pytest.raises(DeadlineExceeded, match="probe task rtt on node a: no 'done' within"):
        agent([READY]).call("rtt", 0.01)


def test_closing_twice_and_after_death_is_no_error(agent: Agent) -> None:
    probe = agent(["DIE"])
    with pytest.raises(ProbeError):
        probe.call("x", 5)
    probe.close()
    probe.close()


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.none())))
def test_any_answer_fits_its_type_or_is_a_probe_error(answer: dict[str, Any]) -> None:
    for kind in (UdpSunk, EchoOnce):
        fits = (
            set(answer) >= {"answered"} if kind is EchoOnce else {"packets", "bytes"} <= set(answer)
        )
        if not fits:
            with pytest.raises(ProbeError, match=f"probe answer {kind.__name__}") as caught:
                parse(kind, answer)
            assert "`make probe-static` for the probe of hosts" in caught.value.remedy

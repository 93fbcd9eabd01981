"""A running ``culvert-wire``: all wires of a lab in one process.

It ends when its standard input is closed, so it never outlives this process; its devices are
removed with it. It is started with the first wire.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from typing import Any

from culvert import tools
from culvert.errors import DeadlineExceeded, LabError, NotPossible, UsageError
from culvert.json_text import read_json
from culvert.labs.namespace.launch import Started
from culvert.labs.namespace.places import RUN_VARIABLE, run_directory
from culvert.labs.namespace.process import LocalProcess
from culvert.labs.process import REMEDY_IF_STOPPED, how_ended, remedy_for

START_DEADLINE_S = 5.0
ANSWER_DEADLINE_S = 5.0
_ERRORS = {1: LabError, 2: UsageError, 3: NotPossible}


class WireProgram:
    """Executes commands, one at a time (crates/wire/README.md)."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._process: LocalProcess | None = None
        self._unread = b""

    @property
    def process(self) -> LocalProcess | None:
        return self._process

    def start(self) -> None:
        """Start it unless it is running. Raises LabError or NotPossible."""
        if self._process is not None:
            return
        program = tools.require("culvert-wire", "run `make setup`")
        log = run_directory(self._run_id) / "wire.log"
        with log.open("wb") as sink:
            popen = subprocess.Popen(
                [str(program), "cables"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env={"PATH": tools.search_path(), RUN_VARIABLE: self._run_id},
                cwd="/",
                start_new_session=True,
            )
        self._process = LocalProcess("culvert-wire", Started(popen, time.monotonic_ns()), log)
        self._answer("ready", START_DEADLINE_S)

    def stop(self) -> None:
        """Stop it; this removes all wires and their devices. Idempotent."""
        if self._process is not None:
            self._process.stop()
            self._process, self._unread = None, b""

    def broken(self, *, within_s: float = 0.0) -> LabError | None:
        """The error that says that it was killed, crashed, or is stopped; None if it still works
        after ``within_s`` seconds."""
        process = self._process
        if process is None:
            return None
        if (code := process.wait(deadline_s=within_s)) is not None:
            return LabError(
                "the wire (culvert-wire)",
                f"it {how_ended(code)}, and every link with it",
                remedy_for(code, otherwise="report it, with the end of its log"),
            )
        if stopped := process.stopped():
            return LabError(
                "the wire (culvert-wire)",
                f"it is stopped (process {stopped[0]}: SIGSTOP, or a tracer), so no link carries "
                "packets",
                REMEDY_IF_STOPPED,
            )
        return None

    def ask(
        self, command: dict[str, Any], *, event: str = "done", deadline_s: float = ANSWER_DEADLINE_S
    ) -> dict[str, Any]:
        """Send a command and return the answer. Raises LabError if it is refused or the wire has
        died."""
        process = self._running()
        try:
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise self._died() from error
        return self._answer(event, deadline_s)

    def _running(self) -> LocalProcess:
        if self._process is None:
            raise LabError("the wire", "is not open", "open the lab first")
        return self._process

    def _answer(self, event: str, deadline_s: float) -> dict[str, Any]:
        """The next event of that kind. Raises LabError for a refusal or if the wire has died."""
        end = time.monotonic() + deadline_s
        while True:
            answer: dict[str, Any] = read_json(self._line(end, deadline_s))
            if answer["event"] == "refused":
                raise LabError(f"the wire: {answer['what']}", answer["why"], answer["remedy"])
            if answer["event"] == "end":
                raise self._died()
            if answer["event"] == event:
                return answer

    def _line(self, end: float, deadline_s: float) -> bytes:
        descriptor = self._running().stdout.fileno()
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        while b"\n" not in self._unread:
            left_ms = (end - time.monotonic()) * 1000
            if left_ms <= 0 or not poller.poll(left_ms):
                raise DeadlineExceeded(
                    "the wire",
                    f"did not answer within {deadline_s:g} s",
                    "check whether the machine is overloaded",
                )
            piece = os.read(descriptor, 65536)
            if not piece:
                raise self._died()
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _died(self) -> Exception:
        """The error in the last line of its log."""
        process = self._running()
        code = process.wait(deadline_s=ANSWER_DEADLINE_S)
        last = process.last_line().removeprefix("culvert-wire cables: ") or "printed no error"
        why, _, remedy = last.rpartition("; ")
        kind = _ERRORS.get(code or 0, LabError)
        return kind("the wire", why or last, remedy if why else "see its log; run `culvert doctor`")

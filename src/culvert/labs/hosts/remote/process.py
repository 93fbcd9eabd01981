"""A program on a host."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, cast

from culvert.errors import CulvertError, LabError, NotPossible
from culvert.exchange import Replies
from culvert.labs.hosts.remote.agent import ANSWER_S, Agent, decoded, encoded
from culvert.labs.hosts.remote.pipes import CHUNK, Output
from culvert.labs.process import InputPipe, Process, Usage, not_ended

STOPPED_S = 5.0


class RemoteProcess(Process):
    """Started by the agent, which ends it when the connection ends."""

    def __init__(
        self,
        agent: Agent,
        argv: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str],
        log: PurePosixPath | None,
        pipes: bool,
        once: bool = False,
        cpus: Sequence[int] | None = None,
    ) -> None:
        """Returns after its execution. Raises NotPossible if the program is not installed."""
        self.name = name
        self.log = Path(log) if log is not None else Path("/dev/null")
        self._agent = agent
        self._requested_s = time.monotonic()
        self._stream = agent.open(
            "spawn",
            argv=list(argv),
            env=dict(env),
            log=None if log is None else str(log),
            pipes=pipes,
            once=once or None,
            cpus=None if cpus is None else list(cpus),
        )
        try:
            started = self._stream.next(ANSWER_S)
        except FileNotFoundError:
            raise NotPossible(
                argv[0], f"the program is not installed on {agent.name}", f"install {argv[0]} on it"
            ) from None
        except OSError as error:
            raise LabError(
                f"start of {argv[0]} on {agent.name}",
                error.strerror or str(error),
                "see `culvert hosts check`",
            ) from error
        self._pid = int(started["pid"])
        self.started_monotonic_ns = int(started["started_ns"])
        streams = ("out",) if log else ("out", "err")
        self._outputs = {stream: Output() for stream in streams} if pipes else {}
        self._ended = threading.Event()
        self._code: int | None = None
        self._stopped = False
        if pipes:
            self._stdin = io.BufferedWriter(InputPipe(self._write, self._end_input, CHUNK), CHUNK)
            self._stdout = io.BufferedReader(self._outputs["out"])
        threading.Thread(target=self._follow, name=f"process-{name}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._pid

    def alive(self) -> bool:
        """True while it runs; a lost host's programs have ended."""
        return not self._ended.is_set()

    def returncode(self) -> int | None:
        return self._code

    def communicate(self, given: bytes | None, *, timeout_s: float) -> tuple[bytes, bytes]:
        """Write its standard input; return standard output and error when it has ended.

        Raises DeadlineExceeded, and HostLost if the connection ended."""
        with suppress(OSError):  # it may have ended without reading
            if given:
                self.stdin.write(given)
            self.stdin.close()
        if not self._ended.wait(timeout_s):
            self.stop(grace_s=0)
            raise not_ended(self.name, timeout_s)
        printed = self.stdout.read(), io.BufferedReader(self._outputs["err"]).read()
        if self._code is None:
            raise self._agent.lost("spawn")
        return printed

    def stop(self, *, grace_s: float = 2.0) -> None:
        if self._stopped:
            return
        self._stopped = True
        try:
            done = self._agent.call(
                "stop",
                of=self._stream.number,
                grace_ms=round(1000 * grace_s),
                timeout_s=grace_s + STOPPED_S,
            )
            self._ended.wait(STOPPED_S)  # its exit code is reported apart from the answer
        except CulvertError:
            if self._agent.alive():
                raise
            return  # the host ends it
        finally:
            self._stream.forget()
            for output in self._outputs.values():
                output.feed(b"")
            self._ended.set()
        if not done.get("gone"):
            raise LabError(
                f"{self.name} on {self._agent.name}",
                "does not end after SIGKILL",
                "see its state with ps on the host",
            )

    def age_s(self) -> float:
        return time.monotonic() - self._requested_s

    def usage(self) -> Usage | None:
        found = self._state()
        if found is None:
            return None
        return Usage(
            cpu_ns=found["cpu_ns"],
            voluntary_switches=found["voluntary"],
            involuntary_switches=found["involuntary"],
            peak_memory_bytes=found["peak_bytes"],
        )

    def stopped(self) -> Sequence[int]:
        found = self._state()
        return [] if found is None else list(found["stopped"])

    def resumptions(self) -> int:
        """Counted by its parent there, while it runs."""
        found = self._state()
        return 0 if found is None else int(found["resumptions"])

    def threads(self) -> int | None:
        found = self._state()
        return None if found is None else int(found["threads"])

    def log_text(self) -> str:
        """Read there; empty if the host is lost."""
        try:
            return decoded(self._agent.call("read", path=str(self.log))).decode(errors="replace")
        except (OSError, CulvertError):
            return ""

    def _state(self) -> dict[str, Any] | None:
        if not self.alive():
            return None
        return cast("dict[str, Any] | None", self._agent.call("usage", of=self._stream.number))

    def _follow(self) -> None:
        with suppress(CulvertError, OSError):
            self._deliver(self._stream)
        self._stream.forget()
        for output in self._outputs.values():
            output.feed(b"")
        self._ended.set()

    def _deliver(self, stream: Replies) -> None:
        open_streams, exited = set(self._outputs), False
        while open_streams or not exited:
            event = stream.next(None)
            match event.get("event"):
                case "output":
                    self._outputs[event["stream"]].feed(decoded(event["data"]))
                case "closed":
                    self._outputs[event["stream"]].feed(b"")
                    open_streams.discard(event["stream"])
                case "exited":
                    exited = True
                    self._code = int(event["code"])
                    self._ended.set()

    def _write(self, data: bytes) -> None:
        if self._ended.is_set():
            raise BrokenPipeError(f"{self.name} has ended")
        self._agent.post("input", of=self._stream.number, data=encoded(data))

    def _end_input(self) -> None:
        with suppress(CulvertError):
            self._agent.post("close_input", of=self._stream.number)

"""Programs in running pods, over the API's ``exec``."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import IO, cast

from culvert.errors import LabError
from culvert.json_text import read_json
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.process import InputPipe, Process

CLOSE_S = 15.0
BLOCKED_S = 40.0
"""Longest time for which a message waits until another one has been sent or received."""
LOST = -1
"""The exit code of a program whose connection was lost."""


class Channel(IntEnum):
    """What a program sends."""

    STDOUT = 1
    STDERR = 2
    ERROR = 3


class PodProgram(Process):
    """A program that runs in a pod's container. Its streams pass through the API server: each write
    is sent at once, its standard output is a pipe."""

    log = Path(os.devnull)

    def __init__(
        self,
        api: Api,
        namespace: str,
        pod: str,
        container: str,
        argv: Sequence[str],
        name: str = "",
    ) -> None:
        """Start it. Raises LabError if the pod or the program cannot be reached."""
        from culvert.labs.kubernetes.api import streams

        self.name = name or f"{argv[0]} in pod {pod}"
        self.started_monotonic_ns = time.monotonic_ns()
        self._broken = streams.BROKEN
        self._streams = streams.connect(api, namespace, pod, container, argv)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._code: int | None = None
        self._stdin = cast("IO[bytes]", InputPipe(self.write, self.close_input))
        reader, self._writer = os.pipe()
        self._stdout = os.fdopen(reader, "rb")
        self.stderr = bytearray()
        self.reason = ""
        self._thread = threading.Thread(target=self._receive, name=self.name, daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        raise LabError(self.name, "the process id in a pod is not known", "report this")

    def alive(self) -> bool:
        """True while it runs, as far as the API server knows."""
        return not self._ended.is_set()

    def returncode(self) -> int | None:
        return self._code if self._ended.is_set() else None

    def stop(self, *, grace_s: float = 2.0) -> None:
        """End its input, which ends the agent; then the connection. Idempotent."""
        if self.alive() and grace_s > 0:
            self.stdin.close()
            self.wait(grace_s)
        self.close()

    def log_text(self) -> str:
        """Its standard error, and why its connection ended."""
        text = bytes(self.stderr).decode(errors="replace")
        return f"{text}\n{self.reason}" if self.returncode() == LOST else text

    def write(self, data: bytes) -> None:
        """To its standard input; raises OSError if it has ended."""
        if self._ended.is_set():
            raise BrokenPipeError(f"{self.name} has ended")
        self._send(self._streams.write_stdin, data)

    def close_input(self) -> None:
        with suppress(OSError):
            if self._streams.can_end_input:
                self._send(self._streams.end_input)
            else:
                self.close()

    def wait(self, timeout_s: float) -> int | None:
        """Its exit code, or LOST; None if it still runs after ``timeout_s``."""
        return self._code if self._ended.wait(timeout_s) else None

    def close(self) -> None:
        """End the connection; the program's input ends with it. Idempotent."""
        sock = self._streams.sock.sock
        if sock is not None:  # else the server has ended the connection
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=CLOSE_S)
        self._streams.sock.shutdown()

    def _send(self, send: Callable[..., None], *data: bytes) -> None:
        if not self._lock.acquire(timeout=BLOCKED_S):
            raise BrokenPipeError(f"{self.name}: the connection is blocked")
        try:
            send(*data)
        except OSError:
            raise
        except self._broken as error:
            raise BrokenPipeError(f"{self.name}: {error}") from error
        finally:
            self._lock.release()

    def _receive(self) -> None:
        try:
            while self._streams.is_open():
                with self._lock:
                    arrived = self._streams.take()
                if not arrived:
                    self._streams.poll()
                for channel, message in arrived.items():
                    self._accept(channel, message)
        except self._broken as error:
            if self._code is None:
                self.reason = f"the connection was lost: {error}"
        finally:
            if self._code is None:
                self._code = LOST
                self.reason = self.reason or "the connection was closed"
            self._ended.set()
            os.close(self._writer)

    def _accept(self, channel: int, message: bytes) -> None:
        match channel:
            case Channel.STDOUT:
                _write_all(self._writer, message)
            case Channel.STDERR:
                self.stderr += message
            case Channel.ERROR:
                self._code, self.reason = _status(message)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BrokenPipeError:
            return  # nobody reads it any more


def _status(message: bytes) -> tuple[int, str]:
    """The exit code and the reason, from the status that ends a program (a v1.Status in JSON)."""
    try:
        status = read_json(message)
        if status.get("status") == "Success":
            return 0, ""
        reason = str(status.get("message", ""))
        for cause in (status.get("details") or {}).get("causes") or ():
            if cause.get("reason") == "ExitCode":
                return int(cause["message"]), reason
    except (ValueError, TypeError, AttributeError):
        reason = message.decode(errors="replace")
    return LOST, reason

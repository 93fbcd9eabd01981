"""What a host prints is a stranger's: bounded where it enters, and an answer is told from the
words of a login shell's start files by marks around it, on each stream."""

from __future__ import annotations

import secrets
import shlex
import threading
from collections.abc import Callable
from typing import IO

MOST_BYTES = 1 << 20
_MOST_SHOWN = 200
_CHUNK = 1 << 16
_POLL_S = 0.005


class Printed:
    """A stream, read as it comes. More than ``most`` bytes are not kept: ``excess`` is called, and
    nothing further is read."""

    def __init__(
        self, stream: IO[bytes] | None, excess: Callable[[], None], *, most: int = MOST_BYTES
    ) -> None:
        assert stream is not None
        self._stream = stream
        self._excess = excess
        self._most = most
        self._kept = bytearray()
        self.too_much = False
        self._thread = threading.Thread(target=self._read, name="printed", daemon=True)
        self._thread.start()

    def join(self, timeout_s: float | None = None) -> None:
        self._thread.join(timeout_s)

    def wait_for(self, text: bytes) -> None:
        """Return when it has come, or nothing will come any more."""
        while text not in self._kept and self._thread.is_alive():
            self._thread.join(_POLL_S)

    def so_far(self) -> bytes:
        """What came, also before its end."""
        return bytes(self._kept)

    def _read(self) -> None:
        with self._stream:
            while data := self._stream.read1(_CHUNK):  # type: ignore[attr-defined]
                if len(self._kept) + len(data) > self._most:
                    self.too_much = True
                    self._excess()
                    return
                self._kept += data


class Marks:
    """Lines around what one command prints."""

    def __init__(self) -> None:
        self._mark = f"culvert-{secrets.token_hex(8)}"
        self._line = f"\n{self._mark}\n".encode()
        self._both = f"echo; echo {self._mark}; echo >&2; echo {self._mark} >&2"

    def around(self, command: str) -> str:
        """The command, for any login shell: a POSIX one, csh, fish. A line of its own, so that a
        shell that shows commands before it executes them prints no mark."""
        mark = self._both
        return _in_posix_shell(f"{mark}; ({command}); code=$?; {mark}; exit $code")

    def before(self, command: str) -> str:
        """The same with marks before it only."""
        return _in_posix_shell(f"{self._both}; {command}")

    def inside(self, printed: bytes) -> bytes | None:
        """What the command printed; None if it did not begin and end."""
        parts = printed.split(self._line)
        return parts[1] if len(parts) == 3 else None

    def after(self, printed: bytes) -> bytes | None:
        """What followed the first mark; None if it is not there."""
        _, line, found = printed.partition(self._line)
        return found if line else None


def _in_posix_shell(command: str) -> str:
    """Without ``exec``, which restricted shells refuse."""
    return f"sh -c {shlex.quote(command)}"


def last_line(*streams: bytes) -> str:
    """The last line of the first stream that has one, to be shown."""
    for printed in streams:
        lines = printed[-_CHUNK:].decode(errors="replace").split("\n")
        shown = ["".join(filter(str.isprintable, line)).strip() for line in lines]
        if found := [line for line in shown if line]:
            return found[-1][:_MOST_SHOWN]
    return ""

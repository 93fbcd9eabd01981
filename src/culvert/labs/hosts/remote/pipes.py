"""The standard streams of a program on a host, as files."""

from __future__ import annotations

import io
import queue
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK = 256 * 1024
"""Bytes of a request: lines of up to 1 MiB are read there."""


class Output(io.RawIOBase):
    """Filled by the agent's reader thread; never blocks it."""

    def __init__(self) -> None:
        self._chunks: queue.Queue[bytes] = queue.Queue()
        self._rest = b""
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Further bytes; none: its end."""
        self._chunks.put(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Waits for at least one byte, or the end."""
        view = memoryview(buffer).cast("B")
        if not self._rest and not self._ended:
            self._rest = self._chunks.get()
            self._ended = not self._rest
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


class Input(io.RawIOBase):
    """Each write is a request."""

    def __init__(self, send: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._send = send
        self._end = end

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        """At most ``CHUNK`` bytes."""
        part = bytes(memoryview(data).cast("B")[:CHUNK])
        self._send(part)
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._end()
        super().close()

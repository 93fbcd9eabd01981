"""Streams of a host here: those of a program as files, a unix socket as a socket."""

from __future__ import annotations

import io
import queue
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from culvert.errors import CulvertError
from culvert.labs.hosts.remote.agent import ANSWER_S, Agent, decoded, encoded

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK = 256 * 1024
"""Bytes of a request: lines of up to 1 MiB are read there."""
SOCKET_CHUNK = 64 * 1024


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


def dial(agent: Agent, path: str) -> socket.socket:
    """Connect to a stream socket on the host; raises OSError if no process listens."""
    stream = agent.open("dial", path=path)
    stream.next(ANSWER_S)
    ours, theirs = socket.socketpair()
    number = stream.number

    def there() -> None:
        with suppress(OSError, CulvertError):
            while data := theirs.recv(SOCKET_CHUNK):
                agent.post("input", of=number, data=encoded(data))
            agent.post("close_input", of=number)

    def back() -> None:
        with suppress(OSError, CulvertError):
            while (event := stream.next(None)).get("event") == "output":
                theirs.sendall(decoded(event["data"]))
        with suppress(OSError):
            theirs.shutdown(socket.SHUT_WR)
        sender.join()  # it ends when the caller closes the socket
        stream.forget()
        with suppress(CulvertError):
            agent.post("stop", of=number, grace_ms=0)
        theirs.close()

    sender = threading.Thread(target=there, name=f"dial-{agent.name}", daemon=True)
    sender.start()
    threading.Thread(target=back, name=f"dialled-{agent.name}", daemon=True).start()
    return ours

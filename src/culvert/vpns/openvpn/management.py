"""The part of OpenVPN's management interface that reports its state (management-notes.txt).

Real-time messages begin with ``>``: ``>STATE:1700000000,CONNECTED,SUCCESS,198.19.0.1,...``.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from culvert.vpns.authoring import Node

SOCKET_PATH_MAX = 107
"""Bytes of a unix socket's path (sun_path of 108 with its zero byte)."""


@dataclass(frozen=True)
class ManagementState:
    """``name`` such as WAIT, AUTH, CONNECTED, RECONNECTING, EXITING; ``detail`` is the reason."""

    name: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.detail})" if self.detail else self.name


class Management:
    """A client that connects when the program has created the socket. A context manager."""

    def __init__(self, node: Node, path: Path) -> None:
        self._node = node
        self._path = path
        self._connection: socket.socket | None = None
        self._unread = b""
        self.latest: ManagementState | None = None
        """The latest state; None until one is known."""
        self.holds = False
        """Whether the program waits for ``hold release`` after the end of a connection."""
        self.answers: list[str] = []
        """Its replies to commands, such as ``SUCCESS: ...``."""

    def __enter__(self) -> Management:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def watch(self, wait_s: float) -> ManagementState | None:
        """The latest state, after waiting up to ``wait_s`` seconds for a new one.

        Raises OSError while the program does not listen, and after it has ended.
        """
        connection = self._connection or self._connect()
        poller = select.poll()  # select() has no room for a descriptor beyond 1,023
        poller.register(connection, select.POLLIN)
        if poller.poll(1000 * wait_s):
            received = connection.recv(65536)
            if not received:
                raise ConnectionResetError("the program closed the management socket")
            self._take(received)
        return self.latest

    def send(self, command: str) -> None:
        """Send a command, such as ``hold release``. Raises OSError if the program does not
        listen."""
        connection = self._connection or self._connect()
        connection.sendall(f"{command}\n".encode())

    def _connect(self) -> socket.socket:
        connection = self._node.dial(str(self._path))
        try:
            # Real-time messages first, then the current state, so that no change is missed.
            connection.sendall(b"state on\nstate\n")
        except OSError:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _take(self, received: bytes) -> None:
        *lines, self._unread = (self._unread + received).split(b"\n")
        for line in lines:
            self._take_line(line.decode(errors="replace").strip())

    def _take_line(self, line: str) -> None:
        if line.startswith(">STATE:"):
            self.latest = parse_state(line.removeprefix(">STATE:")) or self.latest
        elif line.startswith(">HOLD:"):
            self.holds = True
        elif line.startswith(("SUCCESS", "ERROR")):
            self.answers.append(line)
        elif not line.startswith((">", "END")):
            # The reply to ``state``; a real-time message that came before it is as new or newer.
            self.latest = self.latest or parse_state(line)


def parse_state(text: str) -> ManagementState | None:
    """``time,name,detail,...``; None if the line has another format."""
    fields = text.split(",")
    with suppress(ValueError, IndexError):
        int(fields[0])
        return ManagementState(fields[1], fields[2] if len(fields) > 2 else "")
    return None

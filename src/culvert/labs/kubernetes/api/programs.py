"""Programs in running pods, over the API's ``exec``: streams in a websocket.

The protocol (v5.channel.k8s.io, and v4 of older clusters) puts the number of a stream before each
message. The end of the standard input is a message of its own in version 5; in version 4 it is the
end of the connection.
"""

from __future__ import annotations

import io
import os
import select
import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from culvert.errors import LabError
from culvert.files.json_text import read_json
from culvert.labs.kubernetes.api.client import Api
from culvert.waiting import within

V5 = "v5.channel.k8s.io"
V4 = "v4.channel.k8s.io"
CONNECT_S = 15.0
SILENCE_S = 20.0
"""Longest time in which a message is accepted, and for which one that has arrived in part keeps
others from being sent."""
_POLL_MS = 100


class Channel(IntEnum):
    """The streams of a program."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    CLOSE = 255


class PodProgram:
    """A program that runs in a pod's container. Its standard output is a pipe."""

    def __init__(
        self, api: Api, namespace: str, pod: str, container: str, argv: Sequence[str]
    ) -> None:
        """Start it. Raises LabError if the pod or the program cannot be reached."""
        self._name = f"{argv[0]} in pod {pod}"
        self._websocket = _connect(api, namespace, pod, container, argv)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._code: int | None = None
        self._reader, self._writer = os.pipe()
        self.stdout = os.fdopen(self._reader, "rb")
        self.stderr = bytearray()
        self.reason = ""
        self._v5 = _protocol(self._websocket) == V5
        self._thread = threading.Thread(target=self._receive, name=self._name, daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """To its standard input; raises OSError if it has ended."""
        if self._ended.is_set():
            raise BrokenPipeError(f"{self._name} has ended")
        self._send(bytes([Channel.STDIN]) + data)

    def close_input(self) -> None:
        """End its standard input."""
        with suppress(OSError):
            if self._v5:
                self._send(bytes([Channel.CLOSE, Channel.STDIN]))
            else:
                self.close()

    def wait(self, timeout_s: float) -> int | None:
        """Its exit code; None if it still runs after ``timeout_s``, or -1 if the connection to it
        was lost."""
        return self.code if self._ended.wait(timeout_s) else None

    @property
    def code(self) -> int | None:
        """The exit code if it has ended."""
        return self._code if self._ended.is_set() else None

    def close(self) -> None:
        """End the connection; the program's input ends with it. Idempotent."""
        sock = self._websocket.sock
        if sock is not None:  # else the server has ended the connection
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=CONNECT_S)
        self._websocket.shutdown()

    def _send(self, message: bytes) -> None:
        from websocket import ABNF, WebSocketException

        if not self._lock.acquire(timeout=2 * SILENCE_S):
            raise BrokenPipeError(f"{self._name}: the connection is blocked")
        try:
            self._websocket.send(message, opcode=ABNF.OPCODE_BINARY)
        except (WebSocketException, ValueError, AttributeError) as error:
            raise BrokenPipeError(f"{self._name}: {error}") from error
        finally:
            self._lock.release()

    def _receive(self) -> None:
        from websocket import WebSocketException

        try:
            while self._receive_one():
                pass
        except (OSError, WebSocketException, ValueError, AttributeError) as error:
            self.reason = self.reason or f"the connection was lost: {error}"
        finally:
            if self._code is None:
                self._code = -1
                self.reason = self.reason or "the connection was closed"
            self._ended.set()
            os.close(self._writer)

    def _receive_one(self) -> bool:
        """Whether the connection goes on. Nothing is read while another thread writes: the
        library of TLS does not allow that for one connection."""
        from websocket import ABNF, WebSocketTimeoutException

        sock = self._websocket.sock
        pending = getattr(sock, "pending", None)
        if not (pending and pending()):
            poller = select.poll()
            poller.register(sock, select.POLLIN)
            if not poller.poll(_POLL_MS):
                return True
        try:
            with self._lock:
                opcode, message = self._websocket.recv_data()
        except WebSocketTimeoutException:
            return True  # what has arrived is kept: the rest follows
        if opcode == ABNF.OPCODE_CLOSE:
            return False
        if not message:
            return True
        match message[0]:
            case Channel.STDOUT:
                _write_all(self._writer, message[1:])
            case Channel.STDERR:
                self.stderr += message[1:]
            case Channel.ERROR:
                self._code, self.reason = _status(message[1:])
        return True


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
    return -1, reason


def _connect(api: Api, namespace: str, pod: str, container: str, argv: Sequence[str]) -> Any:
    import websocket
    from kubernetes.stream.ws_client import create_websocket

    settings = api.client.configuration
    query = [("command", word) for word in argv]
    query += [("container", container)]
    query += [(name, "true") for name in ("stdin", "stdout", "stderr")]
    path = f"/api/v1/namespaces/{quote(namespace)}/pods/{quote(pod)}/exec?{urlencode(query)}"
    base = urlsplit(settings.host)
    scheme = "wss" if base.scheme == "https" else "ws"
    url = f"{scheme}://{base.netloc}{base.path.rstrip('/')}{path}"
    headers: dict[str, str] = {}
    api.client.update_params_for_auth(headers, [], ["BearerToken"], None, None, None)
    headers = {name.lower(): value for name, value in headers.items()}

    def connect() -> Any:
        if api.dial is None:
            return create_websocket(settings, url, headers)
        made = websocket.WebSocket()
        made.connect(
            url,
            socket=_secured(api, base.hostname or "", base.port or 443),
            header=[f"sec-websocket-protocol: {V5},{V4}"],
        )
        return made

    try:
        made = within(CONNECT_S, connect)
    except TimeoutError as error:
        raise LabError(
            f"{argv[0]} in pod {pod}",
            f"the cluster did not start it within {CONNECT_S:g} s",
            "see the kubelet's log on the pod's node, which the API server connects to",
        ) from error
    except (OSError, websocket.WebSocketException) as error:
        raise LabError(
            f"{argv[0]} in pod {pod}",
            f"it cannot be started: {str(error).splitlines()[0][:200]}",
            "see the pod's state and events; the right to create pods/exec is needed",
        ) from error
    made.settimeout(SILENCE_S)
    return made


def _secured(api: Api, host: str, port: int) -> ssl.SSLSocket:
    assert api.dial is not None  # the caller checked
    settings = api.client.configuration
    context = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    plain = api.dial(host, port)
    plain.settimeout(CONNECT_S)
    return context.wrap_socket(plain, server_hostname=host)


def _protocol(connection: Any) -> str:
    headers = connection.getheaders() or {}
    found = connection.subprotocol
    return str(found or {k.lower(): v for k, v in headers.items()}.get("sec-websocket-protocol"))


class InputPipe(io.RawIOBase):
    """A program's standard input as a file: closing it ends the input."""

    def __init__(self, program: PodProgram) -> None:
        super().__init__()
        self._program = program

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Send the bytes at once."""
        self._program.write(bytes(data))
        return len(data)

    def close(self) -> None:
        """End the program's input."""
        if not self.closed:
            self._program.close_input()
            super().close()

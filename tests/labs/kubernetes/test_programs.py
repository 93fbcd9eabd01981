"""Programs in pods, against servers that speak exec's protocol: well, badly, or without end."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from culvert.errors import LabError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.programs import PodProgram
from culvert.labs.kubernetes.pods.choice import ClusterNodeInfo
from culvert.labs.kubernetes.pods.node import PodAddress, PodNode
from tests.labs.kubernetes.test_hostile_kubeconfigs import config
from tests.labs.kubernetes.test_hostile_servers import Server

pytest.importorskip("kubernetes")

SOON_S = 20.0
STDIN, STDOUT, STDERR, ERROR = (bytes([channel]) for channel in range(4))
END_OF_INPUT = b"\xff\x00"
SUCCESS = ERROR + b'{"status": "Success"}'
Talk = Callable[[Any], object]
"""What a server does with the websocket of a program."""


def accepting(talk: Talk, protocol: str = "v5.channel.k8s.io") -> Any:
    """RFC 6455, section 4.2.2."""
    from websocket import WebSocket, WebSocketException  # noqa: PLC0415

    def serve(connection: socket.socket, _: threading.Event) -> None:
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            asked += connection.recv(1)
        (key,) = [
            line.split(b": ")[1]
            for line in asked.split(b"\r\n")
            if line.lower().startswith(b"sec-websocket-key: ")
        ]
        digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Protocol: " + protocol.encode() + b"\r\n"
            b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
        )
        made = WebSocket()
        made.sock, made.connected = connection, True
        with suppress(WebSocketException):
            talk(made)

    return serve


@contextmanager
def reached(tmp_path: Path, serve: Any) -> Iterator[Api]:
    server = Server()
    server.serve = serve
    path = tmp_path / "config"
    path.write_text(json.dumps(config(server=f"http://127.0.0.1:{server.port}")))
    try:
        yield Api.of(path)
    finally:
        server.close()


@contextmanager
def started(tmp_path: Path, serve: Any) -> Iterator[PodProgram]:
    with reached(tmp_path, serve) as api:
        program = PodProgram(api, "n", "p", "c", ["cat", "a b"])
        try:
            yield program
        finally:
            program.stdout.close()
            program.close()


def echo(made: Any) -> None:
    while (message := made.recv()) != END_OF_INPUT:
        made.send_binary(STDOUT + message[1:])
    made.send_binary(STDERR + b"done")
    made.ping()
    made.send_binary(SUCCESS)
    made.send_close()


def test_a_program_reads_to_the_end_of_its_input(tmp_path: Path) -> None:
    with started(tmp_path, accepting(echo)) as program:
        given = program.stdin
        for text in (b"one", b"\x00\xff", b"x" * 200_000):
            given.write(text)
        given.close()
        assert program.stdout.read() == b"one\x00\xff" + b"x" * 200_000
        assert program.wait(SOON_S) == 0
        assert (bytes(program.stderr), program.reason) == (b"done", "")
        with pytest.raises(BrokenPipeError, match="has ended"):
            program.write(b"x")


def test_in_version_4_the_connection_ends_the_input(tmp_path: Path) -> None:
    ended = threading.Event()

    def talk(made: Any) -> None:
        try:
            made.recv()
        except BaseException:
            ended.set()
            raise

    with started(tmp_path, accepting(talk, "v4.channel.k8s.io")) as program:
        program.close_input()
        assert program.wait(SOON_S) == -1
    assert ended.wait(SOON_S)


def failure(code: object) -> dict[str, Any]:
    causes = [{"reason": "Other", "message": "x"}, {"reason": "ExitCode", "message": code}]
    return {"status": "Failure", "message": "it failed", "details": {"causes": causes}}


STATUSES: dict[str, tuple[bytes, int, str]] = {
    "an exit code": (json.dumps(failure("7")).encode(), 7, "it failed"),
    "no cause": (b'{"status": "Failure", "message": "no such program"}', -1, "no such program"),
    "a code that is no number": (json.dumps(failure("x")).encode(), -1, ""),
    "a code that is null": (json.dumps(failure(None)).encode(), -1, ""),
    "causes of numbers": (b'{"message": "m", "details": {"causes": [1]}}', -1, ""),
    "a list": (b"[]", -1, "[]"),
    "a text": (b"container not found", -1, "container not found"),
    "deep": (b"[" * 100_000, -1, "[["),
    "no text": (b"\xff\xfe", -1, "\ufffd"),
}


@pytest.mark.parametrize("name", STATUSES)
def test_a_status_gives_exit_code_and_reason(tmp_path: Path, name: str) -> None:
    sent, code, reason = STATUSES[name]

    def talk(made: Any) -> None:
        made.send_binary(ERROR + sent)
        made.send_close()

    with started(tmp_path, accepting(talk)) as program:
        assert program.wait(SOON_S) == code
        assert program.reason.startswith(reason)


BROKEN: dict[str, Talk] = {
    "hangs up": lambda made: made.shutdown(),
    "closes": lambda made: made.send_close(),
    "no message": lambda made: made.sock.sendall(b"\xf7garbage"),
    "half a message": lambda made: made.sock.sendall(b"\x82\x05\x01ab"),
    "empty messages": lambda made: [made.send_binary(each) for each in (b"", STDOUT, b"\xff")],
    "an unknown channel": lambda made: made.send_binary(b"\x09abc"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_connection_that_is_lost(tmp_path: Path, name: str) -> None:
    with started(tmp_path, accepting(BROKEN[name])) as program:
        assert program.wait(SOON_S) == -1
        assert "the connection was" in program.reason
        assert program.stdout.read() == b""


def test_a_message_that_stops_in_the_middle_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("culvert.labs.kubernetes.api.streams.SILENCE_S", 0.05)

    def talk(made: Any) -> None:
        made.sock.sendall(b"\x82\x06" + STDOUT + b"ab")
        assert made.recv() == STDIN + b"x"  # the program's input is not kept by it
        made.sock.sendall(b"cde")
        made.send_binary(SUCCESS)
        made.send_close()

    with started(tmp_path, accepting(talk)) as program:
        program.write(b"x")
        assert program.wait(SOON_S) == 0
        assert program.stdout.read() == b"abcde"


def test_a_flood_that_nobody_reads_waits_in_the_server(tmp_path: Path) -> None:
    """Neither is it kept in memory, nor does it keep the program's input."""
    waits, got, most = threading.Event(), threading.Event(), 128 << 20

    def talk(made: Any) -> None:
        made.settimeout(0.5)
        try:
            for _ in range(most >> 16):
                made.send_binary(STDOUT + bytes(1 << 16))
        except Exception:  # the client's word for a send that is late
            waits.set()
            made.settimeout(SOON_S)
            if made.recv() == STDIN + b"x":
                got.set()

    with started(tmp_path, accepting(talk)) as program:
        assert waits.wait(SOON_S)
        program.write(b"x")
        assert got.wait(SOON_S)


HOST = ClusterNodeInfo("node-1", "192.0.2.1", True, {}, "6.1", "containerd", "v1")
WHERE = PodAddress("n", "p", "c", IPv4Address("192.0.2.2"))


def test_a_file_is_read_by_the_probe_in_the_pod(tmp_path: Path) -> None:
    files = [{"path": "/sys/x", "text": "7\n", "error": None}]

    def talk(made: Any) -> None:
        request = json.loads(made.recv()[1:])
        assert (request["do"], request["paths"]) == ("read", ["/sys/x"])
        answer = {"id": request["id"], "event": "done", "result": {"files": files}}
        made.send_binary(STDOUT + json.dumps(answer).encode() + b"\n")
        made.recv()  # until the connection ends

    with reached(tmp_path, accepting(talk)) as api:
        node = PodNode("a", api, WHERE, HOST)
        assert node.read("/sys/x") == b"7\n"
        files[0] |= {"text": None, "error": "there is none"}
        with pytest.raises(OSError, match="/sys/x on node a: there is none"):
            node.read("/sys/x")


def test_a_probe_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    def talk(made: Any) -> None:
        made.send_binary(ERROR + json.dumps(failure("126")).encode())
        made.send_close()

    with reached(tmp_path, accepting(talk)) as api:
        node = PodNode("a", api, WHERE, HOST)
        with pytest.raises(LabError, match="the probe on node a: read: it failed"):
            node.read("/sys/x")

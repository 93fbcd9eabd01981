"""Servers that are no API server, or one that is broken: one error within seconds."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from culvert.errors import LabError, Unreachable
from culvert.labs.kubernetes.api import timed_requests
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.programs import PodProgram
from culvert.labs.kubernetes.pods.lab import NO_WISHES
from culvert.labs.kubernetes.pods.manifests import Owner
from culvert.labs.kubernetes.pods.workspace import Options, Workspace
from culvert.run.pods.cluster import ReachedCluster
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from tests.cli import Cli
from tests.labs.kubernetes.test_busy import VERSION

pytest.importorskip("kubernetes")

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Connection = Callable[[socket.socket, threading.Event], None]


def silent(_: socket.socket, ended: threading.Event) -> None:
    ended.wait()


def dripping(first: bytes, then: bytes) -> Connection:
    def serve(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(first)
        while not ended.wait(0.05):
            connection.sendall(then)

    return serve


def flooding(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(HEAD + b"\r\n")
    while not ended.is_set():
        connection.sendall(b" " * 65536)


def answering(body: bytes, head: bytes = HEAD) -> Connection:
    def serve(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    return serve


def hanging_up(connection: socket.socket, _: threading.Event) -> None:
    connection.recv(65536)


class Server:
    """Serves every connection in the same way."""

    def __init__(self) -> None:
        self.serve: Connection = silent
        self._ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._ended.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.serve(connection, self._ended)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def kubeconfig(server: Server, tmp_path: Path) -> Path:
    cluster = {"server": f"http://me:secret@127.0.0.1:{server.port}"}
    path = tmp_path / "config"
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": cluster}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )  # fmt: skip
    return path


LATE: dict[str, Connection] = {
    "silent": silent,
    "a head that drips": dripping(HEAD + b"X: ", b"x"),
    "many heads": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body that drips": dripping(HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "chunks that drip": dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "a status that drips": dripping(b"", b"H"),
}


@pytest.mark.parametrize("name", LATE)
def test_one_that_is_late(
    server: Server, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(timed_requests, "CONTACT_S", 0.5)
    server.serve = LATE[name]
    api = Api.of(kubeconfig)
    with pytest.raises(Unreachable) as error:
        api.version()
    assert error.value.remedy
    assert not api.requests.answered
    assert "secret" not in str(error.value)


OTHERS: dict[str, Connection] = {
    "a page": answering(b"<html>log in</html>", HEAD.replace(b"application/json", b"text/html")),
    "bytes": answering(b"x", HEAD.replace(b"application/json", b"application/octet-stream")),
    "a list": answering(b"[]"),
    "a text": answering(b'"x"'),
    "a number": answering(b"7"),
    "null": answering(b"null"),
    "nothing": answering(b""),
    "no JSON": answering(b"{"),
    "no text": answering(b"\xff\xfe"),
    "deep": answering(b"[" * 100_000),
    "another object": answering(b'{"kind": "Pod"}'),
    "no HTTP": answering(b"", b"SSH-2.0-x\r\n"),
    "a redirection to itself": answering(
        b"", b"HTTP/1.1 302 Found\r\nLocation: /version/\r\nConnection: close\r\n"
    ),
    "hangs up": hanging_up,
}


@pytest.mark.parametrize("name", OTHERS)
def test_one_that_is_no_api_server(server: Server, kubeconfig: Path, name: str) -> None:
    server.serve = OTHERS[name]
    with pytest.raises(Unreachable) as error:
        Api.of(kubeconfig).version()
    assert "validation error" not in str(error.value)
    assert error.value.remedy


def test_one_that_floods(server: Server, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_requests, "MOST_BYTES", 1 << 20)
    server.serve = flooding
    with pytest.raises(LabError, match="larger than 1 MiB"):
        Api.of(kubeconfig).version()


def test_a_program_that_is_never_started(
    server: Server, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("culvert.labs.kubernetes.api.streams.CONNECT_S", 0.5)
    for server.serve in (silent, LATE["a head that drips"]):
        with pytest.raises(LabError, match=r"did not start it within 0.5 s"):
            PodProgram(Api.of(kubeconfig), "n", "p", "c", ["probe"])


def test_commands_end_with_one_error(server: Server, kubeconfig: Path, say: Cli) -> None:
    """Before anything is recorded."""
    given = ("--kubeconfig", kubeconfig)
    out = kubeconfig.with_name("out")
    for code, words in (
        (1, ("clean", *given)),
        (3, ("kubernetes", "check", *given)),
        (1, ("run", "pods", "--lab", "kubernetes", "--out", out, *given)),
    ):
        said = say(*words)
        said.refused(code, "cannot be reached: no answer within 5 s")
        assert "secret" not in said.err
    assert not out.exists()


LATER: dict[str, Connection] = {
    "a page": OTHERS["a page"],
    "hangs up": hanging_up,
    "the login has expired": answering(b"{}", HEAD.replace(b"200 OK", b"401 Unauthorized")),
    "the run's place is gone": answering(b"{}", HEAD.replace(b"200 OK", b"404 Not Found")),
    "its store has failed": answering(b"{}", HEAD.replace(b"200 OK", b"503 Unavailable")),
}


@pytest.mark.parametrize("name", LATER)
def test_one_that_fails_in_the_middle_of_a_run_ends_it(
    server: Server,
    kubeconfig: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """It is looked for after a trial that failed; what was measured is reported all the same."""
    monkeypatch.setattr("culvert.labs.kubernetes.api.client.PATIENCE_S", 0.1)
    monkeypatch.setattr(Workspace, "open", _opened)
    server.serve = answering(json.dumps(VERSION).encode())
    with ReachedCluster(Api.of(kubeconfig), Options("image:1"), NO_WISHES, prove=False) as reached:
        reached.require_reachable()
        reached.under(registry.create(registry.parse("none")), LabSpec())
        server.serve = LATER[name]
        with pytest.raises(Unreachable) as error:
            reached.require_reachable()
        assert error.value.remedy
    if name != "the run's place is gone":
        assert "remains until `culvert clean`" in capsys.readouterr().err


def test_a_login_that_cannot_be_renewed_ends_it(
    server: Server,
    kubeconfig: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As one that has expired does: the program of credentials fails from its second call on."""
    monkeypatch.setattr(Workspace, "open", _opened)
    server.serve = answering(json.dumps(VERSION).encode())
    given = {"token": "x", "expirationTimestamp": "2020-01-01T00:00:00Z"}
    said = json.dumps({"apiVersion": "v1", "kind": "ExecCredential", "status": given})
    script = f"mkdir {kubeconfig}.called || exit; echo '{said}'"
    program = {"apiVersion": "v1", "command": "sh", "args": ["-c", script]}
    content = json.loads(kubeconfig.read_text())
    content["users"][0]["user"] = {"exec": program}
    kubeconfig.write_text(json.dumps(content))
    api, again = Api.of(kubeconfig), Path(f"{kubeconfig}.called")
    again.rmdir()
    with ReachedCluster(api, Options("image:1"), NO_WISHES, prove=False) as reached:
        reached.under(registry.create(registry.parse("none")), LabSpec())
        with pytest.raises(Unreachable, match="credential program") as error:
            reached.require_reachable()
        assert "may wait for a login" in error.value.remedy
    assert "remains until `culvert clean`" in capsys.readouterr().err


def _opened(place: Workspace) -> None:
    place.owner = Owner("run", "uid")
    place._made.append(place.home)


@pytest.mark.parametrize("where", [(), ("--namespace", "mine")])
def test_who_may_not_look_is_not_told_that_nothing_is_left(
    server: Server, kubeconfig: Path, say: Cli, where: tuple[str, ...]
) -> None:
    server.serve = answering(b'{"message": "no"}', HEAD.replace(b"200 OK", b"403 Forbidden"))
    said = say("clean", "--kubeconfig", kubeconfig, *where)
    said.refused(1, "ask the cluster's administrator for this right")

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import VpnError
from culvert.vpns.wireguard import uapi

Serve = Callable[[bytes], list[bytes]]

KEYS = st.from_regex(r"[a-z_]{1,20}", fullmatch=True)
VALUES = st.from_regex(r"[0-9a-zA-Z.:/=-]{0,64}", fullmatch=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    # Deeper than a unix socket's address can be.
    directory = tmp_path / ("d" * 100)
    directory.mkdir()
    return directory / "wg0.sock"


@pytest.fixture
def dial(path: Path, monkeypatch: pytest.MonkeyPatch) -> uapi.Dial:
    """Connects to the socket by its name, for its path is too long."""
    monkeypatch.chdir(path.parent)

    def connect() -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path.name)
        except OSError:
            connection.close()
            raise
        return connection

    return connect


@pytest.fixture
def serve(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Answer one request with the given bytes; what was asked is in the list it returns."""
    threads: list[threading.Thread] = []
    servers: list[socket.socket] = []

    def start(answer: bytes) -> list[bytes]:
        asked: list[bytes] = []
        server = socket.socket(socket.AF_UNIX)
        servers.append(server)
        monkeypatch.chdir(path.parent)
        server.bind(path.name)
        server.listen()

        def run() -> None:
            connection, _ = server.accept()
            with connection:
                request = b""
                while not request.endswith(b"\n\n") and (more := connection.recv(4096)):
                    request += more
                asked.append(request)
                connection.sendall(answer)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return asked

    yield start
    for thread in threads:
        thread.join(5)
    for server in servers:
        server.close()


@given(pairs=st.lists(st.tuples(KEYS, VALUES), min_size=1))
def test_what_is_formatted_is_parsed(pairs: list[uapi.Pair]) -> None:
    text = uapi.format_request(pairs)
    assert text.endswith(b"\n\n")
    assert uapi.parse_reply(text) == pairs


def test_configure_sends_the_pairs_after_set(dial: uapi.Dial, serve: Serve) -> None:
    asked = serve(b"errno=0\n\n")
    uapi.configure(dial, [("listen_port", "51820"), ("replace_peers", "true")])
    assert asked == [b"set=1\nlisten_port=51820\nreplace_peers=true\n\n"]


def test_a_refusal_is_an_error_with_the_kernels_words(dial: uapi.Dial, serve: Serve) -> None:
    serve(f"errno=-{errno.EADDRINUSE}\n\n".encode())
    with pytest.raises(VpnError, match="Address already in use") as caught:
        uapi.configure(dial, [("listen_port", "51820")])
    assert "port" in caught.value.remedy


def test_nonsense_is_an_error(dial: uapi.Dial, serve: Serve) -> None:
    serve(b"HTTP/1.1 400 Bad Request\n\n")
    with pytest.raises(VpnError, match="not key=value"):
        uapi.state(dial)


def test_a_closed_configuration_socket_is_an_error(dial: uapi.Dial) -> None:
    with pytest.raises(VpnError, match="does not answer"):
        uapi.configure(dial, [])
    with pytest.raises(FileNotFoundError):
        uapi.state(dial)


def test_state_of_device_and_peers(dial: uapi.Dial, serve: Serve) -> None:
    serve(
        b"private_key=aa\nlisten_port=51820\npublic_key=bb\nlast_handshake_time_sec=3\n"
        b"last_handshake_time_nsec=7\ntx_bytes=148\nrx_bytes=92\nallowed_ip=198.19.0.2/32\n"
        b"public_key=cc\nprotocol_version=1\nerrno=0\n\n"
    )
    assert uapi.state(dial) == uapi.DeviceState(
        51820,
        (
            uapi.PeerState("bb", 3_000_000_007, 148, 92, (IPv4Network("198.19.0.2/32"),)),
            uapi.PeerState("cc", 0, 0, 0),
        ),
    )

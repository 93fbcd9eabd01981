from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.labs.node import Node
from culvert.vpns.openvpn.management import Management, ManagementState, parse_state

TALK = (
    b">INFO:OpenVPN Management Interface Version 5 -- type 'help' for more info\r\n"
    b"SUCCESS: real-time state notification set to ON\r\n"
    b"1795173445,WAIT,,,,,,\r\nEND\r\n"
    b">STATE:1795173445,AUTH,,,,,,\r\n"
    b">STATE:1795173445,CONNECTED,SUCCESS,198.19.0.1,198.18.0.2,1194,,\r\n"
)


class Dials:
    """A node, as far as one connects to it."""

    def dial(self, path: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            raise
        return connection


DIALS = cast("Node", Dials())


@contextmanager
def speaking(path: Path) -> Iterator[tuple[Management, socket.socket]]:
    """A client, and the program's end of its connection."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
        Management(DIALS, path) as client,
    ):
        listener.bind(str(path))
        listener.listen()
        client.watch(0)
        program, _ = listener.accept()
        with program:
            yield client, program


def test_it_asks_for_real_time_before_it_asks_for_the_state(tmp_path: Path) -> None:
    with speaking(tmp_path / "s") as (_, program):
        assert program.recv(100) == b"state on\nstate\n"


def test_the_state_however_the_stream_is_cut(tmp_path: Path) -> None:
    with speaking(tmp_path / "s") as (client, program):
        seen = []
        for at in range(0, len(TALK), 7):
            program.sendall(TALK[at : at + 7])
            seen.append(client.watch(1.0))
    names = [state.name for state in seen if state]
    assert list(dict.fromkeys(names)) == ["WAIT", "AUTH", "CONNECTED"]
    assert seen[-1] == ManagementState("CONNECTED", "SUCCESS")


def test_an_answer_is_never_newer_than_what_came_in_real_time(tmp_path: Path) -> None:
    with speaking(tmp_path / "s") as (client, program):
        program.sendall(b">STATE:2,CONNECTED,SUCCESS,,,,,\r\n1,WAIT,,,,,,\r\nEND\r\n")
        assert client.watch(1.0) == ManagementState("CONNECTED", "SUCCESS")


def test_it_holds_when_the_program_says_so(tmp_path: Path) -> None:
    with speaking(tmp_path / "s") as (client, program):
        client.send("hold on")
        assert program.recv(100) == b"state on\nstate\nhold on\n"
        assert not client.holds
        program.sendall(b"SUCCESS: hold flag set to ON\r\n>HOLD:Waiting for hold release:1\r\n")
        client.watch(1.0)
        assert client.holds


def test_answers_to_commands_are_kept(tmp_path: Path) -> None:
    with speaking(tmp_path / "s") as (client, program):
        program.sendall(b"1,WAIT,,,,,,\r\nEND\r\nSUCCESS: common name 'a' found\r\nERROR: no\r\n")
        assert client.watch(1.0) == ManagementState("WAIT")
        assert client.answers == ["SUCCESS: common name 'a' found", "ERROR: no"]


def test_a_missing_management_socket_is_an_error(tmp_path: Path) -> None:
    with Management(DIALS, tmp_path / "s") as client, pytest.raises(OSError, match="No such file"):
        client.watch(0)


def test_the_program_goes_away(tmp_path: Path) -> None:
    with speaking(tmp_path / "s") as (client, program):
        program.recv(100)
        program.close()
        with pytest.raises(ConnectionResetError):
            client.watch(1.0)


@given(st.integers(0, 2**40), st.sampled_from(["WAIT", "CONNECTED"]), st.sampled_from(["", "x"]))
def test_state_lines_are_parsed(time_s: int, name: str, detail: str) -> None:
    assert parse_state(f"{time_s},{name},{detail},1.2.3.4") == ManagementState(name, detail)


@given(st.text(alphabet=st.characters(exclude_characters="0123456789"), max_size=20))
def test_other_lines_are_no_states(text: str) -> None:
    assert parse_state(text) is None

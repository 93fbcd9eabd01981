"""JSON over HTTP from a node: secrets never on a command line, errors with the reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import VpnError
from culvert.vpns.parts.http import request, request_at_socket
from tests.vpns.fake_node import Runs, node_that_prints, node_with_socket

URL = "http://198.18.0.1:8080/api"


def test_secrets_go_through_standard_input() -> None:
    runs: Runs = []
    node = node_that_prints('{"key": "k"}', runs=runs)
    answer = request(node, URL, {"password": 'a"\\b'}, {"Authorization": "Token t0ken"})
    assert answer == {"key": "k"}
    ((argv, stdin),) = runs
    assert argv[0] == "curl"
    assert not any("t0ken" in word or "password" in word or URL in word for word in argv)
    assert f'url = "{URL}"' in stdin.splitlines()
    assert 'header = "Authorization: Token t0ken"' in stdin.splitlines()
    (body,) = (line for line in stdin.splitlines() if line.startswith("data-raw = "))
    unescaped = body.partition(" = ")[2][1:-1].replace('\\"', '"').replace("\\\\", "\\")
    assert json.loads(unescaped) == {"password": 'a"\\b'}


@given(st.text())
def test_no_body_can_add_a_line_to_curls_configuration(text: str) -> None:
    runs: Runs = []
    request(node_that_prints("{}", runs=runs), URL, {"name": text}, {"X-Name": text[:5]})
    names = [line.partition(" = ")[0] for line in runs[0][1].split("\n")]
    assert names == ["url", "noproxy", "max-time", "header", "header", "data-raw"]


@pytest.mark.parametrize(
    ("printed", "code", "reason"),
    [
        ("<html>", 0, "is not JSON"),
        ("", 0, "is not JSON"),
        ('{"message":"no"}', 22, "message"),
        ("", 7, "no answer"),
    ],
)
def test_a_failed_request_states_the_reason(printed: str, code: int, reason: str) -> None:
    with pytest.raises(VpnError, match=reason):
        request(node_that_prints(printed, code=code), URL)


def test_a_unix_socket_is_asked_directly() -> None:
    heard: list[bytes] = []
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}'
    node = node_with_socket(answer, heard)
    assert request_at_socket(node, "/run/x.sock", "/Service/Up", {"b": 2}) == {"a": 1}
    assert heard[0].startswith(b"POST /Service/Up HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 500 no\r\nContent-Length: 3\r\n\r\nbad", "bad"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", "is not JSON"),
        (b"nonsense\r\n\r\n", "no answer"),
        (b"", "no answer"),
    ],
)
def test_a_bad_answer_of_a_socket_states_the_reason(answer: bytes, reason: str) -> None:
    with pytest.raises(VpnError, match=reason):
        request_at_socket(node_with_socket(answer, []), "/run/x.sock", "/Up", {})

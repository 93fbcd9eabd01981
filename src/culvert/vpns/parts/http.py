"""JSON over HTTP as the interfaces of control servers and daemons have it, from a node.

Over TCP curl does it in the node's namespace; addresses, headers and bodies go through its standard
input, because they hold secrets. A unix socket is dialled directly.
"""

from __future__ import annotations

import json
import socket as sockets
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any

from culvert.errors import VpnError
from culvert.json_text import read_json
from culvert.labs.node import Node
from culvert.vpns.facts import KEEP_LOGS

CURL = "curl"
_DEADLINE_S = 30.0
_READ_THE_LOG = f"see the log of the program that answers at this address: {KEEP_LOGS}"


def request(
    node: Node,
    url: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "",
) -> Any:
    """The answer's JSON; a ``body`` makes it a POST unless there is another ``method``.

    Raises VpnError if nothing answers, the status is 400 or more, or the answer is not JSON.
    """
    lines = [f"url = {_quoted(url)}", 'noproxy = "*"', f"max-time = {_DEADLINE_S:g}"]
    lines += [f"header = {_quoted(f'{name}: {value}')}" for name, value in (headers or {}).items()]
    if body is not None:
        lines.append('header = "Content-Type: application/json"')
        lines.append(f"data-raw = {_quoted(json.dumps(body))}")
    if method:
        lines.append(f"request = {_quoted(method)}")
    curl = node.require(CURL, f"install {CURL}")
    argv = [curl, "--disable", "--silent", "--show-error", "--fail-with-body", "--config", "-"]
    done = node.run(argv, stdin="\n".join(lines), timeout_s=_DEADLINE_S + 1, check=False)
    if done.returncode != 0:
        printed = (done.stdout.strip() or done.stderr.strip())[:300]
        raise VpnError(f"{url} from node {node.name}", printed or "no answer", _READ_THE_LOG)
    return _decoded(url, done.stdout)


def answers(node: Node, url: str) -> bool:
    """Whether it answers with JSON and no error."""
    try:
        request(node, url)
    except VpnError:
        return False
    return True


def request_at_socket(
    node: Node, socket: str, path: str, body: object, *, deadline_s: float = _DEADLINE_S
) -> Any:
    """The answer's JSON to a POST over a unix socket of the node.

    Raises OSError if nothing listens, VpnError as ``request`` does.
    """
    dialled, where = node.dial(socket), f"{path} at {socket} on node {node.name}"
    try:
        status, text = exchange(dialled, "POST", path, json.dumps(body), deadline_s=deadline_s)
    except OSError as error:
        raise VpnError(where, f"no answer: {error}", _READ_THE_LOG) from error
    if status >= HTTPStatus.BAD_REQUEST:
        raise VpnError(where, text.strip()[:300] or str(status), _READ_THE_LOG)
    return _decoded(where, text)


def exchange(
    dialled: sockets.socket,
    method: str,
    path: str,
    body: str | None = None,
    *,
    host: str = "localhost",
    deadline_s: float = _DEADLINE_S,
) -> tuple[int, str]:
    """Status and text of the answer to a request over a socket, which is closed then.

    Raises OSError if there is no answer.
    """
    connection = HTTPConnection(host)
    connection.sock = dialled
    try:
        dialled.settimeout(deadline_s)
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except HTTPException as error:
        raise ConnectionError(repr(error)) from error
    finally:
        connection.close()


def _quoted(text: str) -> str:
    """A value in curl's configuration file (curl(1), --config)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _decoded(where: str, text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise VpnError(where, f"the answer is not JSON: {text[:100]!r}", _READ_THE_LOG) from error

"""A node for tests of what a driver asks of one, without a lab."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from culvert.labs.host import Completed
from culvert.labs.node import Node

Runs = list[tuple[tuple[str, ...], str]]
"""Arguments and standard input of each command."""


def node_that_prints(*stdouts: str, code: int = 0, runs: Runs | None = None) -> Node:
    """Commands print these, one after the other, the last of them again and again, and end with
    this code; ``runs`` gets what was run."""
    answers = list(stdouts)

    def run(argv: Sequence[str], *, stdin: str = "", **_: object) -> Completed:
        if runs is not None:
            runs.append((tuple(argv), stdin))
        printed = answers.pop(0) if len(answers) > 1 else answers[0]
        return Completed(tuple(argv), code, printed, "")

    return _node(run=run, require=lambda program, remedy: program)


def node_with_socket(answer: bytes, heard: list[bytes]) -> Node:
    """Its only unix socket gives this answer to one request."""

    def dial(path: str) -> socket.socket:
        here, there = socket.socketpair()

        def serve() -> None:
            with there:
                request = b""
                # To the end of the body, after the headers.
                while not request.endswith(b"}") and (more := there.recv(65536)):
                    request += more
                heard.append(request)
                there.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return here

    return _node(dial=dial)


def _node(**parts: Callable[..., Any]) -> Node:
    fields: Mapping[str, Any] = {"name": "n", **parts}
    return cast(Node, SimpleNamespace(**fields))

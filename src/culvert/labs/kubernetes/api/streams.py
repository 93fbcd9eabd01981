"""The streams of a program in a pod: the official client's websocket.

The protocol is v5.channel.k8s.io, and v4 of older clusters, in which only the end of the connection
ends the standard input.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import quote

from kubernetes.stream.ws_client import (
    STDIN_CHANNEL,
    V5_CHANNEL_PROTOCOL,
    WSClient,
    get_websocket_url,
)
from websocket import WebSocketException, WebSocketTimeoutException

from culvert.errors import LabError
from culvert.labs.kubernetes.api.client import Api, first_line
from culvert.waiting import within

CONNECT_S = 15.0
SILENCE_S = 20.0
"""Longest time in which a message is accepted, and for which one that has arrived in part keeps
others from being sent."""
_POLL_MS = 100

BROKEN = (OSError, WebSocketException, ValueError, TypeError, AttributeError)
"""What a connection raises that the server or another thread has ended."""


class Streams(WSClient):  # type: ignore[misc]
    """Only one thread at a time may send or take: the library of TLS allows no more."""

    def take(self) -> dict[int, bytes]:
        """The message that has arrived, by its channel; empty if there is none yet."""
        with suppress(WebSocketTimeoutException):  # what has arrived is kept: the rest follows
            self.update()
        found: dict[int, bytes] = self._channels
        self._channels: dict[int, bytes] = {}
        return found

    def poll(self) -> None:
        """Wait a moment for a message; another thread may send meanwhile."""
        poller = select.poll()
        poller.register(self.sock.sock, select.POLLIN)
        poller.poll(_POLL_MS)

    @property
    def can_end_input(self) -> bool:
        """Whether the standard input ends without the connection."""
        return bool(self.subprotocol == V5_CHANNEL_PROTOCOL)

    def end_input(self) -> None:
        self.close_channel(STDIN_CHANNEL)

    def _frames_immediately_available(self) -> bool:
        """The client would read on for as long as a program prints: whoever reads its output sets
        the pace instead."""
        return False


def connect(api: Api, namespace: str, pod: str, container: str, argv: Sequence[str]) -> Streams:
    """Start a program. Raises LabError if the pod or the program cannot be reached."""
    settings = api.client.configuration
    path = f"/api/v1/namespaces/{quote(namespace)}/pods/{quote(pod)}/exec"
    query = [("command", list(argv)), ("container", container)]
    query += [(name, "true") for name in ("stdin", "stdout", "stderr")]
    url = get_websocket_url(settings.host.rstrip("/") + path, query)
    headers: dict[str, str] = {}
    api.client.update_params_for_auth(headers, [], ["BearerToken"], None, None, None)
    headers = {name.lower(): value for name, value in headers.items()}

    def start() -> Streams:
        api.requests.enter()
        return Streams(settings, url, headers, capture_all=False, binary=True)

    try:
        made = within(CONNECT_S, start)
    except TimeoutError as error:
        raise LabError(
            f"{argv[0]} in pod {pod}",
            f"the cluster did not start it within {CONNECT_S:g} s",
            "see the kubelet's log on the pod's node, which the API server connects to",
        ) from error
    except (OSError, WebSocketException) as error:
        raise LabError(
            f"{argv[0]} in pod {pod}",
            f"it cannot be started: {first_line(error) or type(error).__name__}",
            "see the pod's state and events; the right to create pods/exec is needed",
        ) from error
    made.sock.settimeout(SILENCE_S)
    return made

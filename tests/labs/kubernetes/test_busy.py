"""A server that is too busy or fails, over HTTP."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import Mock

import pytest

from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.refusal import ApiError

VERSION = {"gitVersion": "v1.34.4", "major": "1", "minor": "34"}
VERSION |= dict.fromkeys(
    ("buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "platform"), "x"
)


class Busy(ThreadingHTTPServer):
    """It answers with these statuses in turn, and with its version when they are used up."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.statuses: list[int] = []
        self.requests = 0


class Answer(BaseHTTPRequestHandler):
    """One request."""

    server: Busy

    def do_GET(self) -> None:
        self.server.requests += 1
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        content = VERSION if status == 200 else {"kind": "Status", "message": "too much to do"}
        body = json.dumps(content).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "100")  # longer than this test may take
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Busy]:
    pytest.importorskip("kubernetes", reason="pip install 'culvert[kubernetes]'")
    monkeypatch.setattr("culvert.labs.kubernetes.api.client._PAUSE_S", 0.0)
    with Busy() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def api(busy: Busy, tmp_path: Path) -> Api:
    path = tmp_path / "kubeconfig"
    server = f"http://127.0.0.1:{busy.server_port}"
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )  # fmt: skip
    return Api.of(path)


def test_it_is_asked_again(busy: Busy, api: Api) -> None:
    busy.statuses = [429, 500, 503]
    assert api.version() == "v1.34.4"
    assert busy.requests == 4


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("status", "remedy"), [(429, "less busy"), (500, "API server"), (503, "API server")]
)
def test_one_that_stays_busy_is_an_error_with_its_reason(
    busy: Busy, api: Api, monkeypatch: pytest.MonkeyPatch, status: int, remedy: str
) -> None:
    ticks = itertools.count()
    clock = Mock(monotonic=lambda: next(ticks), sleep=time.sleep)
    monkeypatch.setattr("culvert.labs.kubernetes.api.client.time", clock)
    monkeypatch.setattr("culvert.labs.kubernetes.api.client.PATIENCE_S", 3)
    busy.statuses = [status] * 100_000
    with pytest.raises(ApiError, match="too much to do") as error:
        api.version()
    assert error.value.status == status
    assert remedy in error.value.remedy
    assert busy.requests == 3

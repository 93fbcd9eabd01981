"""A registry of images on this machine, over HTTP: what a push needs of the specification."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

NAME = "team/probe"


class Registry(ThreadingHTTPServer):
    """It checks digests, and keeps what is pushed.

    ``basic`` and ``bearer`` are the credentials that it accepts: a user's, or a token, for which it
    takes the user's. ``failing`` is the status of all answers to requests of that method.
    """

    def __init__(self, address: str) -> None:
        super().__init__((address, 0), Answer)
        self.host = f"{address}:{self.server_port}"
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.requests: list[tuple[str, str]] = []
        self.failing: dict[str, int] = {}
        self.basic = ""
        self.bearer = ""
        self.stored_digest = ""
        self.place = f"/v2/{NAME}/blobs/uploads/7?state=x"


class Answer(BaseHTTPRequestHandler):
    """One request."""

    server: Registry

    def do_HEAD(self) -> None:
        if self._admitted():
            digest = self.path.rpartition("/")[2]
            self._answer(200 if digest in self.server.blobs else 404)

    def do_POST(self) -> None:
        if self._admitted():
            assert self.path == f"/v2/{NAME}/blobs/uploads/"
            self._answer(202, {"Location": self.server.place})

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._admitted():
            return
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        parts = urlsplit(self.path)
        if "/manifests/" in parts.path:
            tag = parts.path.removeprefix(f"/v2/{NAME}/manifests/")
            self.server.manifests[tag] = (self.headers["Content-Type"], content)
            stored = self.server.stored_digest or digest
            self._answer(201, {"Docker-Content-Digest": stored})
            return
        query = parse_qs(parts.query)
        assert query["state"] == ["x"]
        if query["digest"] != [digest]:
            self._answer(400, {}, {"errors": [{"code": "DIGEST_INVALID", "message": "other"}]})
            return
        self.server.blobs[digest] = content
        self._answer(201)

    def do_GET(self) -> None:
        """The server of tokens."""
        assert urlsplit(self.path).path == "/token"
        query = parse_qs(urlsplit(self.path).query)
        assert query == {"scope": [f"repository:{NAME}:pull,push"], "service": ["here"]}
        if self.headers.get("Authorization") != f"Basic {self.server.basic}":
            self._answer(401, {}, {"errors": [{"code": "DENIED", "message": "wrong password"}]})
            return
        self._answer(200, {}, {"token": self.server.bearer})

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def _admitted(self) -> bool:
        """Whether the request is answered as it should be; the answer was given if not."""
        server = self.server
        server.requests.append((self.command, self.path))
        if (status := server.failing.get(self.command)) is not None:
            self._answer(status, {}, {"errors": [{"code": "UNKNOWN", "message": "disk is full"}]})
            return False
        given = self.headers.get("Authorization", "")
        if server.bearer and given != f"Bearer {server.bearer}":
            realm = f'Bearer realm="http://{server.host}/token",service="here",scope="x"'
            self._answer(401, {"WWW-Authenticate": realm})
            return False
        if server.basic and not server.bearer and given != f"Basic {server.basic}":
            why = {"errors": [{"code": "UNAUTHORIZED", "message": "log in first"}]}
            self._answer(401, {"WWW-Authenticate": 'Basic realm="r"'}, why)
            return False
        return True

    def _answer(
        self, status: int, headers: dict[str, str] | None = None, content: object = None
    ) -> None:
        body = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def serving(address: str = "127.0.0.1") -> Iterator[Registry]:
    with Registry(address) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()

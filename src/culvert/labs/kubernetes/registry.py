"""Pushes of images to a registry, as far as the OCI Distribution Specification 1.1 needs it.

https://github.com/opencontainers/distribution-spec, https://distribution.github.io/distribution/spec/auth/token/
Credentials are those that ``docker login`` and ``podman login`` write:
https://docs.docker.com/reference/cli/docker/login/
"""

from __future__ import annotations

import base64
import os
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from pathlib import Path
from urllib.parse import SplitResult, quote, urlencode, urljoin, urlsplit

from culvert.errors import LabError, UsageError
from culvert.json_text import read_json
from culvert.labs.kubernetes.image import Blob, Image, contents
from culvert.tools import home

DEADLINE_S = 60.0
MOST_BYTES = 1 << 20
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_KEYS = ("{}", "https://{}", "https://{}/", "https://{}/v1/", "https://{}/v2/")
_HUB_KEYS = ("https://index.docker.io/v1/",)
LOCAL = frozenset({"localhost", "127.0.0.1"})
"""Hosts that are reached without TLS."""
HUB, HUB_HOST = "docker.io", "registry-1.docker.io"
_HOST = r"(?P<registry>(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::[0-9]{1,5})?)"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(rf"{_HOST}/(?P<name>{_PART}(?:/{_PART})*):(?P<tag>\w[\w.-]{{0,127}})", re.A)


@dataclass(frozen=True)
class Reference:
    """``registry`` is its host, with a port if it is not the usual one."""

    registry: str
    name: str
    tag: str

    @classmethod
    def parse(cls, word: str) -> Reference:
        """From the command line; raises UsageError."""
        found = _REFERENCE.fullmatch(word)
        registry = found["registry"] if found else ""
        if found is None or not (set(registry) & {".", ":"} or registry in LOCAL):
            raise UsageError(
                f"'{word}'",
                "does not name an image in a registry",
                "write REGISTRY/NAME:TAG, such as registry.example/probe:1",
            )
        return cls(registry, found["name"], found["tag"])

    @property
    def host(self) -> str:
        """That which answers for the registry."""
        return HUB_HOST if self.registry == HUB else self.registry

    @property
    def local(self) -> bool:
        return is_local(self.registry)

    def __str__(self) -> str:
        return f"{self.registry}/{self.name}:{self.tag}"


def is_local(host: str) -> bool:
    """Whether a host, with or without a port, is this machine."""
    return host.partition(":")[0] in LOCAL


def push(image: Image, to: Reference, *, plain_http: bool = False) -> str:
    """Push; returns the digest of its manifest. With TLS, unless the registry is on this machine
    or ``plain_http``. Raises LabError with the registry's reason, UsageError."""
    connection = RegistryConnection(to, plain_http=plain_http)
    made = contents(image)
    for blob in (made.layer, made.config):
        _push_blob(connection, to, blob)
    manifest = made.manifest
    url = f"/v2/{to.name}/manifests/{to.tag}"
    answer = connection.request("PUT", url, manifest.content, {"Content-Type": manifest.kind})
    connection.require(answer, "the manifest", HTTPStatus.CREATED)
    stored = answer.headers.get("Docker-Content-Digest", manifest.digest)
    if stored != manifest.digest:
        raise LabError(
            f"the manifest to {to}",
            f"the registry stored {stored[:100]} instead of {manifest.digest}",
            "see the registry's log: what it stores is not what was sent",
        )
    return manifest.digest


def _push_blob(connection: RegistryConnection, to: Reference, blob: Blob) -> None:
    """Unless the registry has it."""
    what = f"the blob {blob.digest[:19]}"
    if connection.request("HEAD", f"/v2/{to.name}/blobs/{blob.digest}").status == HTTPStatus.OK:
        return
    begun = connection.request("POST", f"/v2/{to.name}/blobs/uploads/")
    connection.require(begun, what, HTTPStatus.ACCEPTED)
    where = begun.headers.get("Location", "")
    if not where:
        raise LabError(f"{what} to {to}", "the registry returned no upload location", "see its log")
    joint = "&" if urlsplit(where).query else "?"
    put = connection.request(
        "PUT",
        f"{where}{joint}digest={quote(blob.digest)}",
        blob.content,
        {"Content-Type": "application/octet-stream"},
    )
    connection.require(put, what, HTTPStatus.CREATED)


@dataclass(frozen=True)
class Answer:
    """A registry's answer."""

    status: int
    headers: HTTPMessage
    body: bytes


class RegistryConnection:
    """``plain_http``: without TLS, which a registry on this machine has not in any case."""

    def __init__(self, to: Reference, *, plain_http: bool) -> None:
        self._to = to
        self._plain = plain_http
        self.url = f"{'http' if plain_http or to.local else 'https'}://{to.host}/"
        self._basic = credentials_of(to.registry)
        self._authorization = "" if self._basic is None else f"Basic {self._basic}"

    def request(
        self, method: str, url: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The answer to a request for an absolute URL or one below the registry's; once more with
        a token if the registry wants one. Raises LabError if there is no answer."""
        answer = self._once(method, url, body, headers or {})
        if answer.status == HTTPStatus.UNAUTHORIZED and self._has_token(answer):
            answer = self._once(method, url, body, headers or {})
        return answer

    def require(self, answer: Answer, what: str, *expected: int) -> Answer:
        """The answer; raises LabError with the registry's reason if it is another one."""
        if answer.status in expected:
            return answer
        raise LabError(
            f"{what} to {self._to}",
            f"HTTP status {answer.status}: {_reason(answer) or 'without a reason'}",
            self._remedy(answer.status),
        )

    def _once(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        parts = self._split(url)
        sent = {**headers, "Content-Length": str(len(body))}
        if self._authorization and parts.netloc == self._to.host:
            sent["Authorization"] = self._authorization
        return self._exchange(method, parts, body, sent)

    def _split(self, url: str) -> SplitResult:
        """Raises LabError for a URL that leaves TLS."""
        parts = urlsplit(urljoin(self.url, url))
        plain = self._plain or (self._to.local and is_local(parts.netloc))
        if parts.scheme != "https" and not (plain and parts.scheme == "http"):
            raise LabError(
                f"the registry {self._to.registry}",
                f"it refers to {parts.scheme}://{parts.netloc}, which is not encrypted",
                "correct the registry's own URL in its settings",
            )
        return parts

    def _exchange(
        self, method: str, parts: SplitResult, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        try:
            connection = (
                HTTPConnection(parts.netloc, timeout=DEADLINE_S)
                if parts.scheme == "http"
                else HTTPSConnection(
                    parts.netloc, timeout=DEADLINE_S, context=ssl.create_default_context()
                )
            )
            try:
                path = f"{parts.path}?{parts.query}" if parts.query else parts.path
                with suppress(BrokenPipeError):  # refused before all was sent: the reason follows
                    connection.request(method, path, body, dict(headers))
                found = connection.getresponse()
                return Answer(found.status, found.headers, found.read(MOST_BYTES))
            finally:
                connection.close()
        except (HTTPException, OSError, ValueError) as error:
            raise LabError(
                f"the registry {parts.netloc}",
                f"it does not answer over {parts.scheme}: {error or type(error).__name__}",
                "check its name, its port and its certificate; --plain-http is for one without TLS",
            ) from error

    def _has_token(self, refused: Answer) -> bool:
        """Exchange the credentials for a token, where the registry names a server that does."""
        scheme, _, rest = refused.headers.get("WWW-Authenticate", "").partition(" ")
        given = dict(_PARAMETER.findall(rest))
        if scheme.lower() != "bearer" or "realm" not in given:
            return False
        query = {"scope": f"repository:{self._to.name}:pull,push"}
        if "service" in given:
            query["service"] = given["service"]
        headers = {} if self._basic is None else {"Authorization": f"Basic {self._basic}"}
        parts = self._split(given["realm"])
        parts = parts._replace(query="&".join(filter(None, (parts.query, urlencode(query)))))
        answer = self.require(
            self._exchange("GET", parts, b"", headers), "the token for", HTTPStatus.OK
        )
        try:
            content = read_json(answer.body)
            token = content.get("token") or content["access_token"]
        except (ValueError, KeyError, AttributeError, TypeError):
            raise LabError(
                f"the server {parts.netloc}", "its answer has no token", self._remedy(answer.status)
            ) from None
        self._authorization = f"Bearer {token}"
        return True

    def _remedy(self, status: int) -> str:
        registry = self._to.registry
        if status == HTTPStatus.UNAUTHORIZED:
            return (
                f"log in: `docker login {registry}` writes the credentials to "
                f"{config_file()} (`auths`; credential helpers are not used)"
            )
        if status == HTTPStatus.FORBIDDEN:
            return f"ask for the right to push to {registry}/{self._to.name}"
        if status == HTTPStatus.NOT_FOUND:
            return f"make the repository {self._to.name} in {registry}, or correct its name"
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "see the registry's log; try again later"
        return "see the reason; is it a registry of OCI images?"


def _reason(answer: Answer) -> str:
    """As the specification has it, or else the beginning of the text."""
    try:
        first = read_json(answer.body)["errors"][0]
        return f"{first.get('code', '')} {first.get('message', '')}".strip()[:300]
    except (ValueError, LookupError, TypeError, AttributeError):
        text = answer.body[:300].decode(errors="replace")
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def config_file() -> Path:
    """$DOCKER_CONFIG/config.json, or ~/.docker/config.json."""
    given = os.environ.get("DOCKER_CONFIG")
    return (Path(given) if given else home() / ".docker") / "config.json"


def credentials_of(registry: str) -> str | None:
    """USER:PASSWORD in base64, as HTTP's basic authentication has it; None if there is none.

    It is a secret. Raises UsageError if the file cannot be used.
    """
    path = config_file()
    try:
        auths = read_json(path.read_bytes()).get("auths", {})
        keys = _HUB_KEYS if registry == HUB else [key.format(registry) for key in _KEYS]
        entries = map(auths.get, keys)
        found = next((entry["auth"] for entry in entries if entry and entry.get("auth")), None)
        if found is not None:
            base64.b64decode(found, validate=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or "cannot be read"
        raise UsageError(str(path), why, "make it readable, or log in again") from error
    except (ValueError, AttributeError, TypeError):  # what it holds may be a secret: not chained
        raise UsageError(
            str(path), "its `auths` are not understood", f"log in again: docker login {registry}"
        ) from None
    return found

"""Requests to a registry, with the user's credentials or the token that they are exchanged for.

https://github.com/opencontainers/distribution-spec, https://distribution.github.io/distribution/spec/auth/token/
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from culvert.errors import LabError
from culvert.files.json_text import read_json
from culvert.labs.kubernetes.registry import credentials
from culvert.labs.kubernetes.registry.reference import Reference, is_local

DEADLINE_S = 60.0
MOST_BYTES = 1 << 20
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


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
        self._basic = credentials.basic(to.registry)
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
                f"it gives no answer over {parts.scheme}: {error or type(error).__name__}",
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
                f"{credentials.config_file()} (`auths`; credential helpers are not used)"
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

"""A connection to a cluster's API server, by the official client.

The client is an optional part of Culvert (``culvert[kubernetes]``). Every request goes through
``Api.call``, which repeats those that the server was too busy for, and puts errors into words.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from culvert.errors import LabError, NotPossible, Unreachable, UsageError
from culvert.json_text import read_json
from culvert.labs.kubernetes.api.refusal import ApiError, Http, NotAdmitted, in_words
from culvert.labs.kubernetes.api.timed_requests import TimedRequests

T = TypeVar("T")

EXTRA = "pip install 'culvert[kubernetes]'"
PATIENCE_S = 10.0
"""Longest time for which a request is repeated."""
REQUEST_S = 15.0
"""Longest time of a request: an admission webhook may take 10 s."""
WITHIN_S = 30.0
"""Longest time of a request to a cluster whose nodes are all on this machine."""
CONNECT_TRIES = 3
_PAUSE_S = 0.5
NOW = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
"""How everything is deleted."""
_USER_INFO = re.compile(r"(//|^(?!\S*//))\S*@")
"""What a URL may have before its host: a name and a password, in which a slash may be unescaped."""


@dataclass(frozen=True)
class Api:
    """One cluster as one user sees it."""

    client: Any
    requests: TimedRequests
    server: str

    @classmethod
    def of(cls, kubeconfig: Path | None = None, context: str | None = None) -> Api:
        """By a kubeconfig (else $KUBECONFIG or the user's own), or by the pod's own account where
        there is none. Raises UsageError for a kubeconfig that cannot be used, NotPossible without
        the client."""
        _require_client()
        from kubernetes import client, config

        from culvert.labs.kubernetes.api.credentials import files_of, load

        settings = _settings()
        what = "the kubeconfig" if kubeconfig is None else f"the kubeconfig {kubeconfig}"
        files = files_of(kubeconfig)
        try:
            if files or context is not None or not _in_a_pod():
                load(os.pathsep.join(map(str, files)), context, settings)
            else:
                config.load_incluster_config(client_configuration=settings)
            if not _is_url(str(settings.host)):
                why = f"its server {_without_password(str(settings.host))!r} is not a URL"
                raise UsageError(what, why, "write https://ADDRESS:PORT")
            made = client.ApiClient(settings)
            return cls(made, TimedRequests(made, REQUEST_S), _without_password(settings.host))
        except UsageError:
            raise
        except Exception as error:  # what the client does not check raises errors of any type
            named = isinstance(error, config.ConfigException | OSError | ValueError)
            why = first_line(error) if named else "does not have the form of a kubeconfig"
            raise UsageError(
                what,
                why or "cannot be used",
                "name one with --kubeconfig, and a context in it with --context",
            ) from error

    @classmethod
    def within(cls, kubeconfig: str, enter: Callable[[], None]) -> Api:
        """By the text of a kubeconfig, from another network; ``enter`` moves a new thread into it,
        and raises OSError."""
        _require_client()
        from kubernetes import client, config

        settings = _settings()
        settings.no_proxy = "*"
        config.load_kube_config_from_dict(read_json(kubeconfig), client_configuration=settings)
        made = client.ApiClient(settings)
        return cls(made, TimedRequests(made, WITHIN_S, enter), settings.host)

    @property
    def core(self) -> Any:
        from kubernetes import client

        return client.CoreV1Api(self.client)

    @property
    def authorization(self) -> Any:
        from kubernetes import client

        return client.AuthorizationV1Api(self.client)

    @property
    def roles(self) -> Any:
        """Roles and their bindings."""
        from kubernetes import client

        return client.RbacAuthorizationV1Api(self.client)

    def version(self) -> str:
        """The server's version, such as v1.34.4."""
        from kubernetes import client

        found = self.call("the version of the cluster", client.VersionApi(self.client).get_code)
        return str(found.git_version)

    def healthy(self) -> bool:
        """Whether all parts of the server report that they work. Raises the client's errors."""
        request = self.client.param_serialize("GET", "/healthz", auth_settings=["BearerToken"])
        return bool(self.client.call_api(*request).status == HTTPStatus.OK)

    def call(self, what: str, request: Callable[..., T], *args: Any, **fields: Any) -> T:
        """Make a request; ``what`` names its object. It is repeated to a server that is too busy or
        fails, for ``PATIENCE_S``. Raises ApiError, Unreachable."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                found = request(*args, **fields)
                if found is None:
                    raise TypeError("null")
                return found
            except ApiException as error:
                if not error.status:  # TLS, or an answer that is not text
                    raise self._unreachable(error) from error
                status = int(error.status)
                busy = status == Http.TOO_MANY or status >= Http.SERVER_ERROR
                if not busy or time.monotonic() >= end:
                    raise in_words(what, error) from error
            except (HTTPError, OSError) as error:
                raise self._unreachable(error) from error
            except _misread() as error:
                raise Unreachable(
                    f"the cluster at {self.server}",
                    f"its answer to a request for {what} is not that of a Kubernetes API server",
                    "check the kubeconfig's server: a proxy or a login page may answer instead",
                ) from error
            except ValueError as error:  # a token with a line break; an answer of another shape
                raise LabError(
                    what,
                    f"the cluster at {self.server} and the client disagree on the protocol: "
                    f"{first_line(error)}",
                    "check the server and the user of the kubeconfig",
                ) from error
            time.sleep(_PAUSE_S)  # the server does not announce when it is less busy

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(
            f"the cluster at {self.server}",
            f"it cannot be reached: {first_line(error)}",
            "check the kubeconfig's server and its context, and that the network reaches it",
        )

    def create(self, what: str, request: Callable[..., T], *args: Any) -> T:
        """Call a request that creates an object. Raises NotAdmitted if it is that object, and not
        the user's right to create, that is refused.

        The server's Status names the object only where admission refuses it: a right to create is
        one to a resource, before any object (apimachinery, ``NewForbidden``)."""
        try:
            return self.call(what, request, *args)
        except ApiError as error:
            if error.status == Http.FORBIDDEN and error.name:
                raise NotAdmitted(
                    error.what,
                    error.why,
                    "use a namespace of the run's own (leave out --namespace), or one whose Pod "
                    "Security and quota admit such objects",
                    error.status,
                    error.name,
                ) from error
            raise

    def call_unless(
        self, status: Http, what: str, request: Callable[..., T], *args: Any, **fields: Any
    ) -> T | None:
        """Call a request; None if the answer is ``status``, such as NOT_FOUND for an object that
        may be gone."""
        try:
            return self.call(what, request, *args, **fields)
        except ApiError as error:
            if error.status == status:
                return None
            raise

    def delete(self, what: str, request: Callable[..., object], *args: str) -> None:
        """Delete an object and what it owns; no error if there is none."""
        self.call_unless(Http.NOT_FOUND, what, request, *args, body=NOW)

    def close(self) -> None:
        self.client.close()


def _in_a_pod() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ


def _require_client() -> None:
    try:
        from kubernetes.stream.ws_client import V5_CHANNEL_PROTOCOL  # noqa: F401
    except ImportError:
        why = "the Kubernetes client for Python is not installed, or an old one is"
        raise NotPossible("the lab kubernetes", why, EXTRA) from None


def _settings() -> Any:
    """The client's configuration: ``Api.call`` alone repeats what a busy server refused."""
    from kubernetes import client
    from urllib3 import Retry

    made = client.Configuration()
    made.retries = Retry(CONNECT_TRIES, status=0, respect_retry_after_header=False)
    return made


def _misread() -> tuple[type[Exception], ...]:
    """What the client raises for an answer that is no JSON, or of another shape."""
    from pydantic import ValidationError

    shape = (ValidationError, TypeError, AttributeError, RecursionError)
    return (json.JSONDecodeError, UnicodeDecodeError, *shape)


def first_line(error: BaseException) -> str:
    """The reason of an error of the client, without passwords; empty if it states none."""
    text = str(getattr(error, "reason", None) or error).strip()
    return _without_password(" ".join(text.split())[:200])


def _without_password(text: str) -> str:
    return _USER_INFO.sub(r"\1", text)


def _is_url(text: str) -> bool:
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    try:
        return parse_url(text).scheme in ("http", "https")
    except LocationParseError:
        return False

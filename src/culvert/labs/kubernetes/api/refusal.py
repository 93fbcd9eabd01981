"""What the API server refuses, and why, in words."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, cast

from culvert.errors import CulvertError, LabError
from culvert.json_text import read_json


class Http(IntEnum):
    """Answers of the API server that mean more than a failure."""

    UNAUTHORIZED = 401
    FORBIDDEN = 403
    NOT_FOUND = 404
    TOO_MANY = 429
    SERVER_ERROR = 500


class ApiError(LabError):
    """A request that the API server refused; ``status`` is the HTTP status, ``name`` the object in
    the details of its Status, empty if not stated."""

    def __init__(self, what: str, why: str, remedy: str, status: int, name: str = "") -> None:
        super().__init__(what, why, remedy)
        self.status = status
        self.name = name


class NotAdmitted(ApiError):
    """A new object that the namespace does not admit (Pod Security, a quota); the user may create
    such objects."""


def in_words(what: str, error: Any) -> CulvertError:
    """The reason that the server gave, and what to do about it."""
    status = int(error.status or 0)
    message, name = _said(error)
    match status:
        case Http.UNAUTHORIZED:
            remedy = "log in to the cluster again: the kubeconfig's user is not accepted"
        case Http.FORBIDDEN:
            remedy = (
                "ask the cluster's administrator for this right; `culvert kubernetes manifest` "
                "lists all that a run needs"
            )
        case Http.TOO_MANY:
            remedy = "the API server limits requests: try again when the cluster is less busy"
        case _ if status >= Http.SERVER_ERROR:
            remedy = "see the log of the cluster's API server"
        case _:
            remedy = "see the reason; `culvert kubernetes manifest` shows what a run creates"
    return ApiError(what, message or f"HTTP status {status}", remedy, status, name)


def _said(error: Any) -> tuple[str, str]:
    """The server's message and the name of its object, from a Status (apimachinery, meta/v1); of
    another answer the HTTP reason, without a name."""
    try:
        found = read_json(cast("str", error.body))
        message, details = str(found["message"]), found.get("details")
    except (ValueError, TypeError, KeyError):
        return str(error.reason or ""), ""
    name = details.get("name") if isinstance(details, dict) else None
    return message, name if isinstance(name, str) else ""

"""Refusals of an API server: of a right, of an object; decided by its Status, not by its words."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.refusal import ApiError, NotAdmitted
from culvert.labs.kubernetes.api.timed_requests import TimedRequests

SECURITY = {
    "message": 'pods "p" is forbidden: violates PodSecurity "restricted:latest": privileged',
    "reason": "Forbidden", "details": {"name": "p", "kind": "pods"}, "code": 403,
}  # fmt: skip
QUOTA = SECURITY | {"message": 'pods "p" is forbidden: exceeded quota: q, requested: pods=1'}
RIGHT = {
    "message": 'pods is forbidden: User "PodSecurity" cannot create resource "pods"',
    "reason": "Forbidden", "details": {"kind": "pods"}, "code": 403,
}  # fmt: skip
TAKEN = {"message": 'pods "p" already exists', "reason": "AlreadyExists", "details": {"name": "p"}}


def refused(body: object, status: int = 403) -> ApiError:
    """The error of a server with this answer."""
    exceptions = pytest.importorskip("kubernetes.client.exceptions")

    def request(**_: Any) -> None:
        error = exceptions.ApiException(status=status, reason="Forbidden")
        error.body = json.dumps(body)
        raise error

    client = SimpleNamespace(rest_client=SimpleNamespace(request=None))
    with pytest.raises(ApiError) as found:
        Api(client, TimedRequests(client, 1.0), "https://here").create("pod p", request)
    return found.value


@pytest.mark.parametrize("body", [SECURITY, QUOTA])
def test_an_object_that_a_namespace_does_not_admit(body: dict[str, Any]) -> None:
    error = refused(body)
    assert isinstance(error, NotAdmitted)
    assert (error.why, error.name) == (body["message"], "p")
    assert "--namespace" in error.remedy


@pytest.mark.parametrize(
    ("body", "status"),
    [(RIGHT, 403), (TAKEN, 409), ({}, 403), ([], 403), (RIGHT | {"details": "p"}, 403)],
)
def test_other_refusals_are_none(body: object, status: int) -> None:
    error = refused(body, status)
    assert not isinstance(error, NotAdmitted)
    assert error.status == status


def test_a_missing_right_has_the_remedy_of_one() -> None:
    assert "culvert kubernetes manifest" in refused(RIGHT).remedy

"""Namespaces of a run: made with their service account, deleted with everything in them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.refusal import Http
from culvert.labs.kubernetes.pods.manifests import Manifest
from culvert.waiting import wait_until

GONE_DEADLINE_S = 60.0
ACCOUNT_DEADLINE_S = 20.0
POLL_S = 0.1


def make(api: Api, manifest: Manifest) -> str:
    """Create one; returns its name."""
    name = str(manifest["metadata"]["name"])
    api.call(f"namespace {name}", api.core.create_namespace, manifest)
    return name


def await_account(api: Api, name: str) -> None:
    """Wait for the default service account, without which no pod is admitted."""
    wait_until(
        partial(_has_account, api, name),
        what=f"the default service account of namespace {name}",
        deadline_s=ACCOUNT_DEADLINE_S,
        poll_s=POLL_S,
        remedy="see the cluster's controller manager, which makes it",
    )


def delete(api: Api, names: Iterable[str]) -> None:
    """Delete them; no error for one that is gone."""
    for name in names:
        api.delete(f"namespace {name}", api.core.delete_namespace, name)


def await_gone(api: Api, names: Iterable[str]) -> None:
    """Wait until they are gone, and with them all that was in them."""
    for name in names:
        wait_until(
            partial(_is_gone, api, name),
            what=f"the removal of namespace {name}",
            deadline_s=GONE_DEADLINE_S,
            poll_s=POLL_S,
            remedy=f"see what holds it: kubectl get all -n {name}",
        )


def _has_account(api: Api, name: str) -> bool:
    list_accounts = api.core.list_namespaced_service_account
    found = api.call_unless(Http.FORBIDDEN, "the service accounts", list_accounts, name)
    return found is None or bool(found.items)  # without the right to look, pods will show it


def _is_gone(api: Api, name: str) -> bool:
    read = api.core.read_namespace
    return api.call_unless(Http.NOT_FOUND, f"namespace {name}", read, name) is None

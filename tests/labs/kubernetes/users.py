"""Users of an API server of the tests."""

from __future__ import annotations

from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.embedded.cluster import EmbeddedCluster


def api_as(server: EmbeddedCluster, user: str) -> Api:
    """The API as another user sees it, with no rights unless they are granted."""
    return Api.within(server.plane.authority.kubeconfig_of(user), server.plane.enter)

"""The clusters that a request names."""

from __future__ import annotations

from culvert.errors import UsageError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.pods.choice import Wish
from culvert.labs.kubernetes.pods.lab import Wishes
from culvert.labs.kubernetes.pods.workspace import Options
from culvert.run.pods.cluster import Clusters, ReachedCluster
from culvert.run.pods.embedded import EmbeddedClusters
from culvert.run.pods.request import EMBEDDED, KINDS, ClusterRequest


def clusters_of(request: ClusterRequest) -> Clusters:
    """The clusters of a run. Raises UsageError for words that are not understood."""
    if request.cluster not in KINDS:
        raise UsageError(f"cluster '{request.cluster}'", "is unknown", f"use {' or '.join(KINDS)}")
    wishes = Wishes(Wish.parse(request.source), Wish.parse(request.target))
    if request.cluster == EMBEDDED:
        if given := request.of_reached:
            raise UsageError(
                "--cluster embedded",
                f"{', '.join(given)} does not apply: Culvert makes that cluster and its pods",
                "leave it out, or use --cluster kubeconfig",
            )
        return EmbeddedClusters()
    options = Options(request.image, request.namespace)
    api = Api.of(request.kubeconfig, request.context)
    return ReachedCluster(api, options, wishes, prove=request.prove)
